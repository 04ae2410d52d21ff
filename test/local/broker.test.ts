import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Broker, startBroker } from '../../local/kafka/broker.ts'
import { connection, readAll } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'
import { temporaryFolder } from './folders.ts'
import { javaTools } from './java-tools.ts'

const { forBroker } = await javaTools()

async function keepOneRecord(broker: Broker) {
  const client = await connection([{ name: 'work' }], broker.brokers)
  const producer = client.kafka.producer()
  await producer.connect()
  await producer.send({ topic: client.named('work'), acks: -1, messages: [{ key: 'a', value: 'kept' }] })
  await producer.disconnect()
  return async () => (await readAll(client, 'work')).map(({ value }) => value.toString())
}

test('a running broker keeps others off its folder and port, and restarts with its data after kill -9', async () => {
  const directory = await temporaryFolder()
  const broker = await startBroker({ directory, ...forBroker })
  await expect(startBroker({ directory, ...forBroker })).rejects.toMatchObject({
    code: 'already_running',
    message: expect.stringContaining(String(broker.pid)),
  })
  const elsewhere = startBroker({ directory: join(directory, 'second'), ...forBroker, port: broker.port })
  await expect(elsewhere).rejects.toMatchObject({
    code: 'kafka_start_failed',
    message: expect.stringContaining('Address already in use'),
  })

  const read = await keepOneRecord(broker)
  await broker.kill()
  expect(await readdir(join(directory, 'data'))).toContain('.lock')
  const second = await broker.restart()
  expect(second.brokers).toBe(broker.brokers)
  // it serves before it leads its partitions again
  expect(await until(read)).toEqual(['kept'])
  expect(await second.stop()).toEqual({ code: 143, signal: null }) // a clean exit by SIGTERM
})

test('an interrupted format is repeated', async () => {
  const directory = await temporaryFolder()
  await mkdir(join(directory, 'data.formatting'))
  await writeFile(join(directory, 'data.formatting', 'bootstrap.checkpoint'), 'half')
  await mkdir(join(directory, 'data'))
  await writeFile(join(directory, 'data', 'meta.properties'), 'version=1\n')
  await startBroker({ directory, ...forBroker })
  expect((await readdir(directory)).sort()).toEqual(['data', 'logs', 'owner.json', 'server.properties'])
})

test('data without meta.properties is refused and left unchanged', async () => {
  const directory = await temporaryFolder()
  await mkdir(join(directory, 'data', 'events-0'), { recursive: true })
  await expect(startBroker({ directory, ...forBroker })).rejects.toMatchObject({
    code: 'data_damaged',
    message: expect.stringContaining(join(directory, 'data')),
  })
  expect(await readdir(join(directory, 'data'))).toEqual(['events-0'])
})

test('a folder may have any name without a comma', async () => {
  const directory = join(await temporaryFolder(), 'Müller & Söhne \\u0041 #1=数据🙂')
  await startBroker({ directory, ...forBroker })
  expect(await readdir(join(directory, 'data'))).toContain('meta.properties')

  const parent = await temporaryFolder()
  await expect(startBroker({ directory: join(parent, 'a,b'), ...forBroker })).rejects.toMatchObject({
    code: 'setting_invalid',
    message: expect.stringContaining('comma'),
  })
  expect(await readdir(parent)).toEqual(['a,b'])
})
