import { setTimeout as sleep } from 'node:timers/promises'
import { nextDelay } from './backoff.ts'
import { LocalFault } from './fault.ts'
import type { Exit, Tied } from './tied.ts'

export type Warn = { warn(fields: object, text: string): void }

export type KeepOptions<T extends Tied> = {
  name: string
  first: T
  again: (ended: T) => Promise<T>
  log: Warn
  /** Aborted when everything is to end: nothing is started again then, whatever ended it. */
  ending: AbortSignal
  /** Told of each end; true: it is not started again. */
  isFinal?: (exit: Exit) => boolean
}

export type Kept = {
  /** Ends it for good. */
  stop(graceMs: number): Promise<void>
}

/** Starts the process again whenever it ends by itself, at growing intervals, until it is stopped. */
export function keepRunning<T extends Tied>(options: KeepOptions<T>): Kept {
  const stopping = new AbortController()
  const stopped = AbortSignal.any([stopping.signal, options.ending])
  let current = options.first
  const kept = watch(options, stopped, (next) => {
    current = next
  })
  return {
    stop: async (graceMs) => {
      stopping.abort()
      await current.stop(graceMs)
      await kept
    },
  }
}

async function watch<T extends Tied>(
  { name, first, again, log, isFinal = () => false }: KeepOptions<T>,
  stopped: AbortSignal,
  onStarted: (next: T) => void,
): Promise<void> {
  let current = first
  let startedAt = performance.now()
  let delay: number | undefined
  for (;;) {
    const exit = await current.exited
    if (stopped.aborted || isFinal(exit)) return
    delay = nextDelay(delay, performance.now() - startedAt)
    log.warn(
      { name, ...exit, delayMs: delay },
      `${name} ended (${describe(exit)}), starting it again in ${delay} ms`,
    )
    await sleep(delay, undefined, { signal: stopped }).catch(() => {})
    if (stopped.aborted) return
    startedAt = performance.now()
    const next = await again(current).catch((err) => {
      if (stopped.aborted) return
      if (err instanceof LocalFault)
        log.warn({ name, code: err.code }, `${name} did not start: ${err.message}`)
      else log.warn({ name, err }, `${name} did not start`)
    })
    if (!next) continue // it counts as one more end
    current = next
    onStarted(next)
    if (stopped.aborted) await next.stop()
  }
}

export const describe = ({ code, signal }: Exit) => signal ?? `exit code ${code}`
