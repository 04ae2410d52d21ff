import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import got from 'got'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../local/ports.ts'
import { type Child, spawnChild } from '../../local/processes/child-process.ts'
import { NODE_FLAGS } from '../helpers/node-flags.ts'
import { planted } from '../helpers/planted.ts'
import { aReceiver } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'
import { anyLives, descendantsOf, isWatcher } from '../local/processes.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const configKey = Buffer.alloc(32, 'key 3 of the tests').toString('base64')
const shop = { id: 'shop', name: 'Shop', writeKey: 'the-shops-own-key' }

/** `npm start` without npm, in its own data folder. */
async function aFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const ports: number[] = []
  for (let index = 0; index < 9; index++) ports.push(await freePort('127.0.0.1', ports))
  const names = [
    'INGEST_PORT',
    'CONTROL_PORT',
    'ROUTER_PORT',
    'DELIVERER_PORT',
    'INGEST_METRICS_PORT',
    'CONTROL_METRICS_PORT',
  ]
  const env = Object.fromEntries(names.map((name, index) => [name, String(ports[index])]))
  // own ports for Kafka too: other tests start a Sluice meanwhile
  const [, , , , , , kafka, controller, registry] = ports
  await writeFile(join(folder, 'ports.json'), JSON.stringify({ kafka, controller, registry }))
  const { KAFKA_BROKERS: _, SCHEMA_REGISTRY_URL: __, ...outer } = process.env
  let running: Child | undefined
  onTestFinished(async () => void (await running?.kill()))
  return {
    ingest: `http://127.0.0.1:${env.INGEST_PORT}`,
    control: `http://127.0.0.1:${env.CONTROL_PORT}/api`,
    /** `printed`: until it was ready. */
    async start(): Promise<{ running: Child; token: string | undefined; printed: readonly string[] }> {
      const printed: string[] = []
      // not the token, which it shows
      planted.settings({ CONFIG_KEY: configKey })
      planted.given(shop)
      running = spawnChild(process.execPath, {
        args: [...NODE_FLAGS, 'local/main.ts'],
        cwd: root,
        env: {
          ...outer,
          ...env,
          SLUICE_DATA: folder,
          CONFIG_KEY: configKey,
          RETRY_LADDER: '500ms,1s,2s',
          PARTITIONS: '4',
        },
        onLine(line) {
          printed.push(line)
          planted.heard(line)
        },
      })
      await until(() => printed.some((line) => line.includes('Press Ctrl-C to stop.')), {
        // two JVMs and four processes, beside those of other tests
        timeout: 120_000,
        message: () => `ready; it printed:\n${printed.slice(-20).join('\n')}`,
      })
      const [, token] = /^ +token +(\S+)/m.exec(printed.join('\n')) ?? []
      return { running, token, printed: [...printed] }
    },
  }
}

test('killed with -9 amid 10,000 accepted events and restarted, it delivers each; Ctrl-C stops it cleanly and leaves nothing running', async () => {
  const receiver = await aReceiver()
  const { start, ingest, control } = await aFolder()
  const first = await start()
  // Sluice retries what a broker does not know yet
  expect(first.printed.filter((line) => /\b(warn|error|fatal)\b/i.test(line))).toEqual([])
  const api = got.extend({ prefixUrl: control, headers: { authorization: `Bearer ${first.token}` } })
  await api.post('sources', { json: shop })
  const webhooks = [{ url: `${receiver.url}/switch` }]
  await api.post('destinations', { json: { id: 'crm', name: 'CRM', sourceIds: ['shop'], webhooks } })

  const accepted: string[] = []
  const arrived = () => new Set(receiver.arrivals.map(({ headers }) => String(headers['x-message-id'])))
  const send = async (batch: number) => {
    const ids = Array.from({ length: 100 }, (_, index) => `${batch}.${index}`)
    const calls = ids.map((messageId) => ({ type: 'track', userId: `u${batch}`, event: 'Paid', messageId }))
    await got.post(`${ingest}/v1/batch`, {
      json: { batch: calls },
      username: shop.writeKey,
      retry: { limit: 0 },
    })
    accepted.push(...ids)
  }
  for (let batch = 0; batch < 20; batch++) await send(batch)
  await until(() => receiver.arrivals.length > 1_000)
  // the kill comes in the middle on any machine
  receiver.answerWith('hang')
  for (let batch = 20; batch < 100; batch++) await send(batch)
  expect(accepted).toHaveLength(10_000)
  await until(() => receiver.arrivals.some(({ status }) => status === undefined))
  await first.running.kill()
  receiver.answerWith(200)
  const before = arrived().size
  expect(before).toBeLessThan(10_000)

  const { running, token, printed } = await start()
  expect(token).toBe(first.token)
  // something is set up now
  expect([first.printed, printed].map((lines) => lines.some((line) => line.startsWith('Try it')))).toEqual([
    true,
    false,
  ])
  expect(await api('sources').text()).toContain('"shop"')
  await until(() => arrived().size === 10_000, {
    timeout: 60_000,
    message: () => `all arrived: ${arrived().size}`,
  })
  const again = receiver.arrivals.length - 10_000
  // only what was in flight, or not committed, is sent again, with the same id
  expect(again).toBeLessThan(10_000)
  expect(new Set(receiver.arrivals.map(({ headers }) => headers['x-delivery-id'])).size).toBe(10_000)

  const pids = descendantsOf(running.pid)
  expect(pids.length).toBeGreaterThanOrEqual(8)
  const watchers = pids.filter(isWatcher)
  const programs = pids.filter((pid) => !watchers.includes(pid))
  expect(programs.length).toBeGreaterThanOrEqual(6)
  process.kill(running.pid, 'SIGINT')
  process.kill(running.pid, 'SIGINT') // npm repeats what the terminal has sent
  expect(await running.exited).toEqual({ code: 0, signal: null })
  expect(anyLives(programs)).toBe(false)
  // the system may not have removed the last one yet
  await until(() => !anyLives(watchers), { message: 'no watcher is left' })
}, 360_000)
