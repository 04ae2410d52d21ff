import { expect, test } from 'vitest'
import { isChainWhole, pidsUpToNpm } from '../../local/ancestors.ts'
import type { ProcessFacts } from '../../local/process-facts.ts'

const byNpm = { npm_lifecycle_event: 'start' }

/** A machine on which each process is the child of the next one. */
function machine(...commands: [pid: number, command: string][]) {
  const facts = commands.map(([pid, command], index): ProcessFacts => {
    return { pid, parent: commands[index + 1]?.[0] ?? 1, started: '1', command }
  })
  return (pid: number) => facts.find((process) => process.pid === pid)
}

test('the chain goes up to npm and not above it', () => {
  const chain = (...commands: Parameters<typeof machine>) => pidsUpToNpm(byNpm, 30, machine(...commands))
  expect(chain([30, 'npm start'], [10, '-bash'])).toEqual([30])
  expect(chain([30, 'sh -c node local/main.ts'], [20, 'npm start'], [10, '-bash'])).toEqual([30, 20])
  expect(chain([30, 'sh -c npm run x; node local/main.ts'], [20, 'node /usr/bin/npm start'])).toEqual([
    30, 20,
  ])
  expect(chain([30, 'node /usr/lib/node_modules/npm/bin/npm-cli.js start'])).toEqual([30])
  expect(chain([30, '/usr/bin/node /opt/pnpm.cjs start'])).toEqual([30])
})

test('without npm nothing above is watched', () => {
  expect(pidsUpToNpm({}, 30, machine([30, 'npm start']))).toEqual([])
  expect(pidsUpToNpm(byNpm, 30, machine([30, '-bash'], [10, 'login']))).toEqual([])
})

test('the chain is broken when any of it is gone, npm included, and whole when what started npm is gone', () => {
  const pids = [30, 20]
  expect(isChainWhole(pids, 30, machine([30, 'sh'], [20, 'npm start'], [10, '-bash']))).toBe(true)
  expect(isChainWhole(pids, 30, machine([30, 'sh'], [20, 'npm start']))).toBe(true)
  expect(isChainWhole(pids, 1, machine([20, 'npm start']))).toBe(false) // sh is gone: we have another parent
  expect(isChainWhole(pids, 30, machine([30, 'sh']))).toBe(false) // npm is gone: sh has another parent
})
