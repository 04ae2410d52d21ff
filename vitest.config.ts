import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/setup/longest-first.ts'

const real = [
  'test/flow/**/*.test.ts',
  'test/local/**/*.test.ts',
  'test/clients/*.test.ts',
  'test/console/browser/*.test.ts',
]

// one more than the smallest machine has cores: much of the time is waiting. The same for both projects, so that they run side by side
const maxWorkers = 3

export default defineConfig({
  test: {
    reporters: ['default', './test/setup/count.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      // of both, what they import is loaded once a worker: half of the time of the pure ones would be that
      {
        test: {
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: real,
          isolate: false,
          // both projects at once on two cores: what takes 2 s alone took 9
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // as long as `until`: a second is over soon on a machine that is busy
          expect: { poll: { timeout: 30_000 } },
          maxWorkers,
        },
      },
      {
        test: {
          name: 'real',
          include: real,
          // it makes README's pictures, and shows nothing (`npm run pictures`)
          exclude: process.env.PICTURES ? [] : ['test/console/browser/pictures.test.ts'],
          globalSetup: ['test/setup/kafka.ts'],
          setupFiles: ['test/setup/no-leaks.ts'],
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers,
        },
      },
    ],
  },
})
