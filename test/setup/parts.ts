import { globSync } from 'node:fs'

/** The path of an event, crashes, an outage, the isolation of webhooks. All other files in `test/flow/` are slow. */
export const CORE_FLOWS = [
  'deliverer.crash',
  'deliverer.isolation',
  'deliverer.misbehaving',
  'deliverer.post',
  'ingest',
  'kafka.fenced',
  'outage',
  'router.crash',
  'settings',
  'shared',
].map((name) => `test/flow/${name}.test.ts`)

/** Slow tests outside `test/flow/`. Most start brokers, browsers, compilers or package managers. */
export const SLOW = [
  'test/bench/command-line.test.ts',
  'test/ci/',
  'test/clients/go.test.ts',
  'test/clients/node/package.test.ts',
  'test/clients/node/process.test.ts',
  'test/console/browser/',
  'test/delivery/verification-examples.test.ts',
  'test/deploy/',
  'test/local/broker.test.ts',
  'test/local/registry.test.ts',
  'test/local/start.test.ts',
  'test/ops/',
  'test/site/',
]

const isSlow = (file: string) =>
  file.startsWith('test/flow/') ? !CORE_FLOWS.includes(file) : SLOW.some((path) => file.startsWith(path))

/** @returns the test files outside the part that `TESTS` names; none if it is not set. */
export function otherPart({ TESTS }: NodeJS.ProcessEnv): string[] {
  if (TESTS === undefined) return []
  if (TESTS !== 'core' && TESTS !== 'slow') throw new Error(`TESTS must be core or slow, but is ${TESTS}`)
  return globSync('test/**/*.test.ts').filter((file) => isSlow(file) !== (TESTS === 'slow'))
}
