import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Analytics } from '@segment/analytics-node'
import type { Call } from './calls.ts'

/** A client library as an application uses it. */
export type Library = {
  /** Its name in `context.library`. */
  name: string
  /** The reason if it cannot be used on this machine. */
  missing: string | undefined
  /** Resolves when the library has finished every call. @returns how many it gave up. */
  send(calls: readonly Call[], to: { url: string; writeKey: string }): Promise<number>
}

const folder = fileURLToPath(new URL('../foreign', import.meta.url))
const run = promisify(execFile)
/** On a busy machine, `go run` alone took 25 s. */
const LONGEST_MS = 200_000

function unless(says: string, command: string, ...args: string[]): string | undefined {
  return spawnSync(command, args, { cwd: folder, timeout: 60_000 }).status === 0 ? undefined : says
}

/** A program in `test/foreign` that reads calls from its input and prints how many it gave up. */
async function outside(command: string, args: string[], calls: readonly Call[]): Promise<number> {
  const running = run(command, args, { cwd: folder, timeout: LONGEST_MS })
  running.child.stdin?.end(JSON.stringify(calls))
  return Number((await running).stdout)
}

export const node: Library = {
  name: '@segment/analytics-node',
  missing: undefined,
  async send(calls, { url, writeKey }) {
    const analytics = new Analytics({ writeKey, host: url })
    let givenUp = 0
    analytics.on('error', () => {
      givenUp += 1
    })
    for (const { type, ...call } of calls) {
      // its types need the kind of call; the library itself checks the fields
      const send = analytics[type] as (call: object) => void
      send(structuredClone(call)) // it writes its own name into the context that it is given
    }
    await analytics.closeAndFlush()
    return givenUp
  },
}

const needsPython = unless(
  'segment-analytics-python is not installed: pip install -r test/foreign/requirements.txt',
  'python3',
  ...['-c', 'import segment.analytics'],
)

export const python = (...options: ('sync_mode' | 'gzip')[]): Library => ({
  name: 'analytics-python',
  missing: needsPython,
  send: (calls, { url, writeKey }) => outside('python3', ['send_calls.py', url, writeKey, ...options], calls),
})

export const go: Library = {
  name: 'analytics-go',
  missing: unless('Go or the modules of test/foreign/go.mod are missing', 'go', 'mod', 'download'),
  send: (calls, { url, writeKey }) => outside('go', ['run', 'send_calls.go', url, writeKey], calls),
}
