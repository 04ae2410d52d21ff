import { killAllChildren } from './child-process.ts'

export type ExitReason = { code: number; message?: string }

export type Shutdown = {
  readonly requested: Promise<ExitReason>
  readonly signal: AbortSignal
  /** Only the first request counts. */
  request(reason: ExitReason): void
}

/** The terminal sends Ctrl-C to both npm and us, and npm forwards it: signals within this time are one key press. */
const SAME_PRESS_MS = 500

const ORPHAN_GRACE_MS = 3_000

/**
 * Requests a shutdown on Ctrl-C, SIGTERM, a closed terminal or the death of npm. A second Ctrl-C kills all children at
 * once.
 */
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
    // closing a terminal also ends npm: a shutdown in progress gets some time
    setTimeout(killAllChildren, controller.signal.aborted ? ORPHAN_GRACE_MS : 0)
    request({ code: 1 })
  })
  return { requested: promise, signal: controller.signal, request }
}

/**
 * An npm that is killed cannot forward a signal. npm is our parent, because the `start` script ends in `exec`. Without
 * npm there is no watch: the shell that started us in the background may exit.
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
