import { killAllChildren } from './child-process.ts'

export type ExitReason = { code: number; message?: string }

export type Shutdown = {
  readonly requested: Promise<ExitReason>
  readonly signal: AbortSignal
  /** Only the first one counts. */
  request(reason: ExitReason): void
}

/** The terminal and npm both send us a Ctrl-C. Signals within this time are one key press. */
const SAME_PRESS_MS = 500

const ORPHAN_GRACE_MS = 3_000

/** Shuts down on Ctrl-C, SIGTERM, a closed terminal or the death of npm. A second Ctrl-C kills all children. */
export function watchShutdown(env: NodeJS.ProcessEnv): Shutdown {
  const { promise, resolve } = Promise.withResolvers<ExitReason>()
  const controller = new AbortController()
  const request = (reason: ExitReason) => {
    resolve(reason)
    controller.abort()
  }
  let firstAt: number | undefined
  const onSignal = () => {
    firstAt ??= performance.now()
    if (performance.now() - firstAt < SAME_PRESS_MS) request({ code: 0 })
    else void killAllChildren()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  // writing to a closed terminal must not crash us
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {})
  watchNpm(env, () => {
    // closing a terminal also ends npm: give a shutdown in progress some time
    setTimeout(killAllChildren, controller.signal.aborted ? ORPHAN_GRACE_MS : 0)
    request({ code: 1 })
  })
  return { requested: promise, signal: controller.signal, request }
}

/**
 * A killed npm forwards no signal. npm is our parent, as the `start` script ends in `exec`. Without npm nothing is
 * watched: a shell that started us in the background may exit.
 */
function watchNpm(env: NodeJS.ProcessEnv, onGone: () => void): void {
  if (!env.npm_lifecycle_event) return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onGone()
  }, 250)
  timer.unref()
}
