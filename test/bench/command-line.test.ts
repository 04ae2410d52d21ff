import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { benches } from '../../bench/benches.ts'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

type Ended = { code: number; stdout: string; stderr: string }

const run = (program: string, ...args: string[]): Promise<Ended> =>
  promisify(execFile)(process.execPath, [program, ...args], { cwd }).then(
    (said) => ({ code: 0, ...said }),
    ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr }),
  )

describe.each([
  ['bench/main.ts', 'npm run bench', '--rounds'],
  ['torture/main.ts', 'npm run torture', '--minutes'],
  ['torture/cluster/main.ts', 'npm run cluster', '--rate'],
  ['torture/upgrade/main.ts', 'npm run upgrade', '--rate'],
])('%s', (program, command, size) => {
  test('says how it is used when asked, and when told what it does not know', async () => {
    const [asked, unknown, wrong] = await Promise.all([
      run(program, '--help'),
      run(program, '--nonesuch'),
      run(program, size, 'many'),
    ])
    expect(asked).toEqual({ code: 0, stdout: expect.stringMatching(`^${command} `), stderr: '' })
    const usage = asked.stdout
    expect(unknown).toEqual({ code: 2, stdout: '', stderr: `Unknown option '--nonesuch'\n\n${usage}` })
    expect(wrong).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(`^${size} takes a .*number above 0, and not 'many'\n\n${command} `),
    })
  })
})

test('the usage of the benches has a line for each', async () => {
  const { stdout } = await run('bench/main.ts', '--help')
  const lines = Object.entries(benches).map(
    ([name, { what, minutes }]) => new RegExp(`^  ${name} +\\*? +${minutes} min  ${what}$`, 'm'),
  )
  expect(lines.filter((line) => !line.test(stdout))).toEqual([])
})

test('a size that no named bench goes by is wrong, and so is a bench that is not there', async () => {
  const [size, name] = await Promise.all([
    run('bench/main.ts', 'clients', '--minutes', '3'),
    run('bench/main.ts', 'nonesuch'),
  ])
  expect([size, name].map(({ code, stderr }) => [code, stderr.split('\n')[0]])).toEqual([
    [2, 'clients takes no --minutes'],
    [2, 'no such bench: nonesuch'],
  ])
})
