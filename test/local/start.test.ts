import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { NODE_FLAGS } from '../helpers/node-flags.ts'
import { until } from '../helpers/until.ts'
import { temporaryFolder } from './folders.ts'
import { anyLives, childrenOf, descendantsOf, makesArchive } from './processes.ts'

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
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  return { child, pid, output: () => output }
}

async function ready({ output }: Started) {
  await until(() => output().includes('Press Ctrl-C to stop.'), { timeout: 55_000, message: output })
  const find = (pattern: RegExp) => pattern.exec(output())?.[1] ?? ''
  return {
    control: find(/^ +control +(\S+)/m),
    ingest: find(/^ +ingest +(\S+)/m),
    token: find(/^ +token +(\S+)/m),
  }
}

type Told = Awaited<ReturnType<typeof ready>>

async function sources({ control, token }: Told): Promise<string> {
  const headers = { authorization: `Bearer ${token}` }
  return (await fetch(`${control}/api/sources`, { headers })).text()
}

/** The commands of the banner. */
async function tryIt(printed: string): Promise<void> {
  const commands = /^ {2}node -e [\s\S]*?(?=\n\nPress)/m.exec(printed)?.[0] ?? ''
  const shell = spawn('/bin/sh', ['-c', `${commands}\nwait`], { detached: true })
  onTestFinished(() => void process.kill(-Number(shell.pid), 'SIGKILL'))
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (data) => (output += data))
  const [, signature, body = ''] = await until(() => /^([0-9a-f]{40}) (\{"version":1.*\})$/m.exec(output), {
    message: () => `${commands}\n${output}`,
  })
  expect(signature).toBe(createHmac('sha1', 's3cret').update(body).digest('hex'))
  expect(JSON.parse(body)).toMatchObject({ type: 'track', event: 'Signed Up' })
}

test('npm start serves what it prints, refuses a second start on its data folder, and leaves nothing running when npm is killed', {
  timeout: 120_000,
}, async () => {
  const folder = await temporaryFolder()
  const npm = run(['npm', 'start'], folder)
  const told = await ready(npm)
  await tryIt(npm.output())
  expect(await sources(told)).toContain('"shop"')
  const [main = 0, ...others] = childrenOf(npm.pid)
  expect(others).toEqual([])

  const second = run(MAIN, folder)
  expect(await once(second.child, 'close')).toEqual([2, null])
  expect(second.output()).toContain(`already runs on ${folder} (pid ${main})`)

  const pids = descendantsOf(main)
  // two of Java, each with its watcher, and four of Node
  expect(pids.filter((pid) => !makesArchive(pid))).toHaveLength(8)
  npm.child.kill('SIGKILL') // npm alone
  await until(() => !anyLives([main, ...pids]), { message: 'npm is gone, and all that it started' })
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
