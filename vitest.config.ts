import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/helpers/longest-first.ts'

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
    reporters: ['default', './test/helpers/count.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      // what they import is loaded once: half of their time would be that
      {
        test: {
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: real,
          isolate: false,
          testTimeout: 30_000,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'real',
          include: real,
          // it makes README's pictures, and shows nothing (`npm run pictures`)
          exclude: process.env.PICTURES ? [] : ['test/console/browser/pictures.test.ts'],
          globalSetup: ['test/helpers/kafka.ts'],
          setupFiles: ['test/helpers/no-leaks.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers,
        },
      },
    ],
  },
})
