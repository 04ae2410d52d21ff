import { watchAncestors } from './ancestors.ts'
import { killAllTied } from './tied.ts'

/** Why `npm start` ends, and with what exit code. */
export type Ending = { code: number; message?: string }

export type Endings = {
  readonly requested: Promise<Ending>
  /** Aborted by the first request. */
  readonly signal: AbortSignal
  /** The first one counts. */
  request(ending: Ending): void
}

/** npm passes a Ctrl-C on that has reached us already: what follows within this time is the same key press. */
const SAME_PRESS_MS = 500

const ORPHAN_GRACE_MS = 3_000

/** Waits for Ctrl-C, SIGTERM, the end of the terminal, and the death of npm. */
export function watchEndings(env: NodeJS.ProcessEnv): Endings {
  const { promise, resolve } = Promise.withResolvers<Ending>()
  const controller = new AbortController()
  const request = (ending: Ending) => {
    resolve(ending)
    controller.abort()
  }
  let firstAt: number | undefined
  const onSignal = () => {
    firstAt ??= performance.now()
    if (performance.now() - firstAt < SAME_PRESS_MS) request({ code: 0 })
    else void killAllTied()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  // a terminal or npm that is gone takes what we print with it
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  watchAncestors(env, () => {
    // a terminal that is closed ends npm, too: what is in order then may go on for a moment
    setTimeout(killAllTied, controller.signal.aborted ? ORPHAN_GRACE_MS : 0)
    request({ code: 1 })
  })
  return { requested: promise, signal: controller.signal, request }
}
