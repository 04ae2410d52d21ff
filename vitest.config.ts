import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/setup/longest-first.ts'
import { hasJava, needingJava } from './test/setup/needs-java.ts'
import { otherPart } from './test/setup/parts.ts'

const real = [
  'test/flow/**/*.test.ts',
  'test/local/**/*.test.ts',
  'test/clients/*.test.ts',
  'test/console/browser/*.test.ts',
]

// Two more than the smallest machine has cores: a test with Kafka uses a core for 60% of its time. The same for both
// projects, so that they run side by side.
const maxWorkers = 4

// the same as for `until`. Vitest's default, a second, is too short for a busy machine
const poll = { timeout: 60_000 }

export default defineConfig({
  test: {
    reporters: ['default', './test/setup/count.ts'],
    sequence: { sequencer: LongestFirst },
    // for what workers have started, and the removal of its files
    teardownTimeout: 90_000,
    projects: [
      // without isolation, each worker loads the imports once: otherwise they would take half of the time of pure tests
      {
        test: {
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: [...real, ...otherPart(process.env)],
          globalSetup: ['test/setup/scratch.ts'],
          isolate: false,
          // with both projects at once on two cores, a test that takes 2 s alone took 9 s
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll },
          maxWorkers,
        },
      },
      {
        test: {
          name: 'real',
          include: real,
          // it makes the pictures of the README (`npm run pictures`) and tests nothing
          exclude: [
            ...(process.env.PICTURES ? [] : ['test/console/browser/pictures.test.ts']),
            ...(hasJava(process.env) ? [] : needingJava()),
            ...otherPart(process.env),
          ],
          globalSetup: ['test/setup/scratch.ts', 'test/setup/kafka.ts'],
          setupFiles: ['test/setup/no-leaks.ts'],
          isolate: false,
          // a test waits several times (`until`), and a busy machine takes tens of seconds to start four processes
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll },
          maxWorkers,
        },
      },
    ],
  },
})
