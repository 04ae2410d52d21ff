import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { nextDelay, supervise } from '../../local/processes/supervise.ts'
import { until } from '../helpers/until.ts'
import { temporaryFolder } from './folders.ts'
import { anyLives } from './processes.ts'

const FOREVER = 'process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1000);'

/** A program's pid is in the file once it listens for signals. */
async function superviseAll(sources: Record<string, string>) {
  const root = await temporaryFolder()
  const append = 'require("node:fs").appendFileSync(process.env.PIDS, process.pid + "\\n");'
  const programs: Record<string, string> = {}
  for (const [name, source] of Object.entries(sources)) {
    programs[name] = `${name}.cjs`
    await writeFile(join(root, `${name}.cjs`), `${source};${append}`)
  }
  const pidFile = join(root, 'pids')
  await writeFile(pidFile, '')
  const said: string[] = []
  const refused: string[] = []
  const log = { warn: (_fields: object, text: string) => void said.push(text) }
  const env = { ...process.env, PIDS: pidFile }
  const { signal: ending } = new AbortController()
  const supervised = supervise({ programs, root, env, log, ending, onRefused: (name) => refused.push(name) })
  onTestFinished(() => supervised.stop(0))
  const pids = async () => (await readFile(pidFile, 'utf8')).trim().split('\n').filter(Boolean).map(Number)
  /** Beside the file of pids. */
  const written = (name: string) => readFile(`${pidFile}.${name}`, 'utf8')
  return { supervised, said, refused, pids, written }
}

test('a killed process is restarted, with one log line', async () => {
  const { said, pids, supervised } = await superviseAll({ router: FOREVER })
  const [first] = await until(async () => (await pids()).length === 1 && (await pids()))
  process.kill(first ?? 0, 'SIGKILL')
  await until(async () => (await pids()).length === 2)
  expect(said).toEqual(['router ended (SIGKILL), restarting in 250 ms'])
  await supervised.stop(2_000)
  expect(anyLives(await pids())).toBe(false)
})

test('a process that keeps exiting is restarted at growing intervals', async () => {
  const { said, supervised } = await superviseAll({ router: 'process.exit(1)' })
  // more if this process was held up
  await until(() => said.length >= 3)
  await supervised.stop(1_000)
  expect(said.slice(0, 3).map((line) => /\d+ ms/.exec(line)?.[0])).toEqual(['250 ms', '500 ms', '1000 ms'])
})

test('a process that rejects its settings is not restarted, and onRefused is called', async () => {
  const { refused, said, pids } = await superviseAll({
    control: 'setImmediate(() => process.exit(2))',
    router: FOREVER,
  })
  await until(() => refused.length > 0)
  expect(refused).toEqual(['control'])
  await until(async () => (await pids()).length === 2)
  expect(said).toEqual([])
})

test('once the settings are accepted, exit code 2 leads to a restart too', async () => {
  const { refused, said, supervised } = await superviseAll({
    control: 'setTimeout(() => process.exit(2), 300)',
  })
  supervised.accepted()
  await until(() => said.length >= 2)
  expect(refused).toEqual([])
})

test('all get SIGTERM at once, and those that do not exit are killed', async () => {
  // exits once the other has got SIGTERM too
  const together = `
    const { appendFileSync, readFileSync } = require('node:fs')
    const file = (name) => process.env.PIDS + '.' + name
    const end = () => (appendFileSync(file('ended'), 'x'), process.exit(0))
    process.on('SIGTERM', () => {
      appendFileSync(file('asked'), 'x')
      setInterval(() => readFileSync(file('asked')).length === 2 && end(), 20)
    })
    setInterval(() => {}, 1000)`
  const deaf = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'
  const { pids, supervised, written } = await superviseAll({ one: together, two: together, three: deaf })
  await until(async () => (await pids()).length === 3)
  await supervised.stop(4_000)
  expect(await written('ended')).toBe('xx')
  expect(anyLives(await pids())).toBe(false)
})

test('the delay before a restart doubles up to ten seconds, and starts over after half a minute of uptime', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7].reduce<number[]>((all) => [...all, nextDelay(all.at(-1), 10)], [])
  expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000])
  expect(nextDelay(10_000, 29_999)).toBe(10_000)
  expect(nextDelay(10_000, 30_000)).toBe(250)
})
