import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LocalError } from '../errors.ts'
import { type Child, type Exit, spawnNodeChild } from './child-process.ts'

export type Warn = { warn(fields: object, text: string): void }

export type SuperviseOptions = {
  programs: Readonly<Record<string, string>>
  root: string
  env: NodeJS.ProcessEnv
  log: Warn
  ending: AbortSignal
  /** A program exited with 2 before all were ready: it rejects its settings, and has printed why. */
  onRefused: (name: string) => void
}

export type Supervised = {
  /** All are ready: a program that exits with 2 is now restarted. */
  accepted(): void
  /** SIGTERM to all at once, and SIGKILL to those that still run after `graceMs`. */
  stop(graceMs: number): Promise<void>
}

const REFUSED = 2

export function supervise({ programs, root, env, log, ending, onRefused }: SuperviseOptions): Supervised {
  let accepted = false
  const keep = ([name, script]: [string, string]): KeptRunning => {
    const start = () => spawnNodeChild(join(root, script), { args: [], cwd: root, env })
    const isFinal = ({ code }: Exit) => {
      const refused = code === REFUSED && !accepted
      if (refused) onRefused(name)
      return refused
    }
    return keepRunning({ name, first: start(), restart: async () => start(), log, ending, isFinal })
  }
  const all = Object.entries(programs).map(keep)
  return {
    accepted: () => {
      accepted = true
    },
    stop: async (graceMs) => {
      await Promise.all(all.map((process) => process.stop(graceMs)))
    },
  }
}

export type KeepRunningOptions<T extends Child> = {
  name: string
  first: T
  restart: (ended: T) => Promise<T>
  log: Warn
  /** Nothing is restarted once this is aborted. */
  ending: AbortSignal
  /** True means no restart. */
  isFinal?: (exit: Exit) => boolean
}

export type KeptRunning = { stop(graceMs: number): Promise<void> }

/** Restarts a process at growing intervals, until stopped. */
export function keepRunning<T extends Child>(options: KeepRunningOptions<T>): KeptRunning {
  const stopping = new AbortController()
  const stopped = AbortSignal.any([stopping.signal, options.ending])
  let current = options.first
  const done = restartUntil(stopped, options, (next) => {
    current = next
  })
  return {
    stop: async (graceMs) => {
      stopping.abort()
      await current.stop(graceMs)
      await done
    },
  }
}

async function restartUntil<T extends Child>(
  stopped: AbortSignal,
  { name, first, restart, log, isFinal = () => false }: KeepRunningOptions<T>,
  onStarted: (next: T) => void,
): Promise<void> {
  let current = first
  let startedAt = performance.now()
  let delay: number | undefined
  for (;;) {
    const exit = await current.exited
    if (stopped.aborted || isFinal(exit)) return
    delay = nextDelay(delay, performance.now() - startedAt)
    const end = exit.signal ?? `exit code ${exit.code}`
    log.warn({ name, ...exit, delayMs: delay }, `${name} ended (${end}), restarting in ${delay} ms`)
    await sleep(delay, undefined, { signal: stopped }).catch(() => {})
    if (stopped.aborted) return
    startedAt = performance.now()
    const next = await restart(current).catch((err) => {
      if (stopped.aborted) return
      if (err instanceof LocalError)
        log.warn({ name, code: err.code }, `${name} did not start: ${err.message}`)
      else log.warn({ name, err }, `${name} did not start`)
    })
    if (!next) continue // counts as one more exit
    current = next
    onStarted(next)
    if (stopped.aborted) await next.stop()
  }
}

const FIRST_MS = 250
const LONGEST_MS = 10_000
const STEADY_MS = 30_000

export function nextDelay(previousMs: number | undefined, upMs: number): number {
  if (previousMs === undefined || upMs >= STEADY_MS) return FIRST_MS
  return Math.min(previousMs * 2, LONGEST_MS)
}
