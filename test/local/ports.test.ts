import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { chooseKafkaPorts, choosePorts, firstPortOf, freePort } from '../../local/ports.ts'
import { temporaryFolder } from './folders.ts'

const HOST = '127.0.0.1'
const silent = () => {}

/** Another process may hold the port instead, but not only probe it. */
async function occupy(port: number): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const server = createServer().listen(port, HOST)
    onTestFinished(() => void server.close())
    const isMine = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (isMine) return
    await sleep(20)
  }
}

test('a port from the environment that is taken is refused by name, and the message suggests 0', async () => {
  const port = await freePort()
  await occupy(port)
  const refusal = await choosePorts({ CONTROL_PORT: String(port) }, HOST, silent).catch((error) => error)
  expect(refusal).toMatchObject({ code: 'port_taken' })
  for (const part of ['CONTROL_PORT', String(port), ' 0 ']) expect(refusal.message).toContain(part)
})

test('a default that is taken is replaced by the next free port, with a message', async () => {
  await occupy(8080)
  const said: string[] = []
  const ports = await choosePorts({}, HOST, (line) => said.push(line))
  expect(ports.INGEST_PORT).toBeGreaterThan(8085)
  expect(said).toContain(`INGEST_PORT: 8080 is taken, using ${ports.INGEST_PORT}`)
  expect(new Set(Object.values(ports)).size).toBe(6)
})

test('170 processes with consecutive pids look among different ports, and none finds the same port twice in a row', async () => {
  const firsts = Array.from({ length: 170 }, (_, index) => firstPortOf(4_000_000 + index))
  const ports = firsts.flatMap((first) => Array.from({ length: 100 }, (_, index) => first + index))
  expect(new Set(ports).size).toBe(17_000)
  expect([Math.min(...ports), Math.max(...ports)]).toEqual([15_000, 31_999])
  const found = await Promise.all(Array.from({ length: 50 }, () => freePort()))
  expect(new Set(found).size).toBe(50)
})

test('0 means any free port, different for each process', async () => {
  const env = {
    INGEST_PORT: '0',
    CONTROL_PORT: '0',
    ROUTER_PORT: '0',
    DELIVERER_PORT: '0',
    INGEST_METRICS_PORT: '0',
    CONTROL_METRICS_PORT: '0',
  }
  const ports = Object.values(await choosePorts(env, HOST, silent))
  expect(new Set(ports).size).toBe(6)
  expect(ports).not.toContain(0)
})

test('no default takes a port that the environment gives to another process', async () => {
  const ports = await choosePorts({ ROUTER_PORT: String(await freePort()), CONTROL_PORT: '0' }, HOST, silent)
  expect(new Set(Object.values(ports)).size).toBe(6)
})

test('the same port for two processes, or an invalid port, is refused by name', async () => {
  const port = String(await freePort())
  await expect(choosePorts({ INGEST_PORT: port, ROUTER_PORT: port }, HOST, silent)).rejects.toMatchObject({
    code: 'port_taken',
    message: expect.stringContaining('ROUTER_PORT'),
  })
  for (const wrong of ['eighty', '65536', '-1', '8080x'])
    await expect(choosePorts({ INGEST_PORT: wrong }, HOST, silent)).rejects.toMatchObject({
      code: 'setting_invalid',
      message: expect.stringContaining('INGEST_PORT'),
    })
})

test('an address that this machine does not have is refused by name, whether ports are set or not', async () => {
  for (const env of [{}, { INGEST_PORT: '0' }, { INGEST_PORT: String(await freePort()) }])
    await expect(choosePorts(env, '192.0.2.1', silent)).rejects.toMatchObject({
      code: 'setting_invalid',
      message: expect.stringMatching(/: cannot listen on 192\.0\.2\.1.*EADDRNOTAVAIL/),
    })
})

test("Kafka's and the registry's ports stay the same, and change only when they are taken", async () => {
  const folder = await temporaryFolder()
  const said: string[] = []
  const onChange = (line: string) => void said.push(line)
  const find = (kafka = true) =>
    chooseKafkaPorts({ folder, taken: [], started: { kafka, registry: true }, onChange })
  const first = await find()
  expect(await find()).toEqual(first)
  await occupy(first.kafka)
  // a Kafka elsewhere, named by the environment
  const before = said.length
  expect(await find(false)).toEqual(first)
  expect(said).toHaveLength(before)
  const third = await find()
  expect(third).toMatchObject({ registry: first.registry })
  expect(third.kafka).not.toBe(first.kafka)
  expect(said.at(-1)).toBe(`Kafka: port ${first.kafka} is taken, using ${third.kafka} from now on`)
})
