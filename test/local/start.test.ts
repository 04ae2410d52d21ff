import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import got from 'got'
import { expect, onTestFinished, test } from 'vitest'
import { NODE_FLAGS } from '../../harness/launch.ts'
import { freePort } from '../../local/ports.ts'
import { planted } from '../helpers/planted.ts'
import { aReceiver } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'
import { temporaryFolder } from './folders.ts'
import { anyLives, childrenOf, descendantsOf, isWatcher, makesArchive } from './processes.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FREE = {
  INGEST_PORT: '0',
  CONTROL_PORT: '0',
  ROUTER_PORT: '0',
  DELIVERER_PORT: '0',
  INGEST_METRICS_PORT: '0',
  CONTROL_METRICS_PORT: '0',
}
const MAIN = [process.execPath, ...NODE_FLAGS, 'local/main.ts'] as const

type Started = { child: ChildProcess; pid: number; output: () => string }

/** On free ports, with its own Kafka and registry. */
function run(
  [program, ...args]: readonly [string, ...string[]],
  folder: string,
  env: NodeJS.ProcessEnv = {},
): Started {
  const { KAFKA_BROKERS: _, SCHEMA_REGISTRY_URL: __, npm_lifecycle_event: ___, ...own } = process.env
  const child = spawn(program, args, { cwd: ROOT, env: { ...own, ...FREE, ...env, SLUICE_DATA: folder } })
  const { pid = 0 } = child
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += data
      planted.heard(String(data))
    })
  return { child, pid, output: () => output }
}

async function ready({ output }: Started) {
  // it starts two JVMs and four processes while other tests run
  await until(() => output().includes('Press Ctrl-C to stop.'), { timeout: 120_000, message: output })
  const find = (pattern: RegExp) => pattern.exec(output())?.[1] ?? ''
  return {
    control: find(/^ +control +(\S+)/m),
    ingest: find(/^ +ingest +(\S+)/m),
    token: find(/^ +token +(\S+)/m),
  }
}

/** The commands of the banner. */
async function tryIt(printed: string): Promise<void> {
  const commands = /^ {2}node -e [\s\S]*?(?=\n\nPress)/m.exec(printed)?.[0] ?? ''
  const shell = spawn('/bin/sh', ['-c', `${commands}\nwait`], { detached: true })
  onTestFinished(() => void process.kill(-Number(shell.pid), 'SIGKILL'))
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (data) => (output += data))
  const [, signature, body = ''] = await until(() => /^([0-9a-f]{40}) (\{"version":1.*\})$/m.exec(output), {
    timeout: 90_000,
    message: () => `${commands}\n${output}`,
  })
  expect(signature).toBe(createHmac('sha1', 's3cret').update(body).digest('hex'))
  expect(JSON.parse(body)).toMatchObject({ type: 'track', event: 'Signed Up' })
}

test('npm start works as printed, leaves nothing running when npm is killed, and then delivers every event', {
  timeout: 600_000,
}, async () => {
  const receiver = await aReceiver()
  const folder = await temporaryFolder()
  const configKey = Buffer.alloc(32, 'key 3 of the tests').toString('base64')
  const store = { id: 'store', name: 'Store', writeKey: 'the-stores-own-key' }
  // not the token, which it shows
  planted.settings({ CONFIG_KEY: configKey })
  planted.given(store)
  // own ports for Kafka too: other tests start a Sluice meanwhile
  const ports: number[] = []
  for (let index = 0; index < 3; index++) ports.push(await freePort('127.0.0.1', ports))
  const [kafka, controller, registry] = ports
  await writeFile(join(folder, 'ports.json'), JSON.stringify({ kafka, controller, registry }))
  const env = { CONFIG_KEY: configKey, RETRY_LADDER: '500ms,1s,2s', PARTITIONS: '4' }

  const npm = run(['npm', 'start'], folder, env)
  const first = await ready(npm)
  // Sluice retries what a broker does not know yet
  expect(npm.output().match(/^.*\b(warn|error|fatal)\b.*$/gim)).toBeNull()
  await tryIt(npm.output())
  const apiOf = ({ control, token }: typeof first) =>
    got.extend({ prefixUrl: `${control}/api`, headers: { authorization: `Bearer ${token}` } })
  expect(await apiOf(first)('sources').text()).toContain('"shop"')
  const [main = 0, ...others] = childrenOf(npm.pid)
  expect(others).toEqual([])
  const second = run(MAIN, folder)
  expect(await once(second.child, 'close')).toEqual([2, null])
  expect(second.output()).toContain(`already runs on ${folder} (pid ${main})`)

  await apiOf(first).post('sources', { json: store })
  const webhooks = [{ url: `${receiver.url}/switch` }]
  await apiOf(first).post('destinations', {
    json: { id: 'erp', name: 'ERP', sourceIds: [store.id], webhooks },
  })
  const arrived = () => new Set(receiver.arrivals.map(({ headers }) => String(headers['x-message-id'])))
  let accepted = 0
  const send = async (batch: number) => {
    const ids = Array.from({ length: 100 }, (_, index) => `${batch}.${index}`)
    const calls = ids.map((messageId) => ({ type: 'track', userId: `u${batch}`, event: 'Paid', messageId }))
    await got.post(`${first.ingest}/v1/batch`, {
      json: { batch: calls },
      username: store.writeKey,
      retry: { limit: 0 },
    })
    accepted += ids.length
  }
  for (let batch = 0; batch < 20; batch++) await send(batch)
  await until(() => receiver.arrivals.length > 1_000)
  // the kill comes in the middle on any machine
  receiver.answerWith('hang')
  for (let batch = 20; batch < 100; batch++) await send(batch)
  expect(accepted).toBe(10_000)
  await until(() => receiver.arrivals.some(({ status }) => status === undefined))
  const pids = descendantsOf(main)
  // two of Java, each with its watcher, and four of Node
  expect(pids.filter((pid) => !makesArchive(pid))).toHaveLength(8)
  npm.child.kill('SIGKILL') // npm alone
  await until(() => !anyLives([main, ...pids]), { message: 'npm is gone, and all that it started' })
  receiver.answerWith(200)
  expect(arrived().size).toBeLessThan(10_000)

  const again = run(MAIN, folder, env)
  expect((await ready(again)).token).toBe(first.token)
  // something is set up now
  expect([npm, again].map(({ output }) => /^Try it/m.test(output()))).toEqual([true, false])
  await until(() => arrived().size === 10_000, {
    timeout: 120_000,
    message: () => `all arrived: ${arrived().size}`,
  })
  // only what was in flight, or not committed, is sent again, with the same id
  expect(receiver.arrivals.length - 10_000).toBeLessThan(10_000)
  expect(new Set(receiver.arrivals.map(({ headers }) => headers['x-delivery-id'])).size).toBe(10_000)

  const running = descendantsOf(again.pid)
  const watchers = running.filter(isWatcher)
  const programs = running.filter((pid) => !watchers.includes(pid))
  expect(programs.length).toBeGreaterThanOrEqual(6)
  const ended = once(again.child, 'close')
  again.child.kill('SIGINT')
  again.child.kill('SIGINT') // npm repeats what the terminal has sent
  expect(await ended).toEqual([0, null])
  expect(anyLives(programs)).toBe(false)
  // the system may not have removed the last one yet
  await until(() => !anyLives(watchers), { message: 'no watcher is left' })
})

test('an invalid setting or port makes it exit with 2 before anything runs', async () => {
  const folder = await temporaryFolder()
  const wrong = run(MAIN, folder, { RETRY_WINDOW: 'long', DELIVERY_SLOTS: '-1' })
  expect(await once(wrong.child, 'close')).toEqual([2, null])
  for (const name of ['RETRY_WINDOW', 'DELIVERY_SLOTS']) expect(wrong.output()).toContain(name)
  const taken = run(MAIN, folder, { CONTROL_PORT: '99999' })
  expect(await once(taken.child, 'close')).toEqual([2, null])
  expect(taken.output()).toContain('CONTROL_PORT')
})

test('without Java it lists the alternatives and exits with 2', async () => {
  const empty = await temporaryFolder()
  const bare = run(MAIN, await temporaryFolder(), { PATH: empty, JAVA_HOME: '' })
  expect(await once(bare.child, 'close')).toEqual([2, null])
  expect(bare.output()).toContain('docker compose up')
})
