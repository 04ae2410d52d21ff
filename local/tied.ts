import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** A child process that ends when this process ends, however that happens, kill -9 included. */
export type Tied = {
  readonly pid: number
  readonly exited: Promise<Exit>
  /** SIGTERM, and SIGKILL when it is still there after `graceMs`. */
  stop(graceMs?: number): Promise<Exit>
  kill(): Promise<Exit>
}

export type SpawnOptions = {
  args: readonly string[]
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Gets each line of stdout and stderr. */
  onLine?: (line: string) => void
}

/**
 * The watcher reads from a socket that only this process holds: when this process is gone it reads the end and kills; a line
 * tells it to leave. `exec` keeps the pid, so the pid is the program's own. Plain sh, for Linux and macOS.
 */
const WATCHED = '(read -r _ <&3 || kill -9 $$) >/dev/null 2>&1 & exec "$@" 3<&- </dev/null'

/** Any program. @throws when there is no `sh`. */
export function spawnTied(program: string, { args, cwd, env, onLine = () => {} }: SpawnOptions): Tied {
  const child = spawn('/bin/sh', ['-c', WATCHED, 'sh', program, ...args], {
    cwd,
    env: env ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  for (const input of [child.stdout, child.stderr]) if (input) createInterface({ input }).on('line', onLine)
  const tied = hold(child)
  const tie = child.stdio[3]
  if (!(tie instanceof Socket)) throw new Error('fd 3 of a child is not a socket')
  tie.on('error', () => {}) // the watcher is gone: 'close' follows
  tie.on('close', () => void tied.kill()) // without a watcher the child would outlive us
  tie.resume()
  child.once('exit', () => tie.end('\n'))
  return tied
}

const DIE_WITH_PARENT = fileURLToPath(new URL('./die-with-parent.ts', import.meta.url))

/** A Node program on this process's own Node with the same flags; it writes to this process's stdout and stderr. */
export function spawnTiedNode(script: string, { args, cwd, env }: Omit<SpawnOptions, 'onLine'>): Tied {
  const child = spawn(process.execPath, [...process.execArgv, '--import', DIE_WITH_PARENT, script, ...args], {
    cwd,
    env: env ?? process.env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
  })
  return hold(child)
}

/** Long enough for what is in a pipe; another process may hold the pipe open for longer. */
const LAST_LINES_MS = 500

const living = new Set<Tied>()

/** For the end of this process: whatever was started and not stopped. */
export async function killAllTied(): Promise<void> {
  await Promise.all([...living].map((tied) => tied.kill()))
}

/**
 * Children are `detached`, that is in process groups of their own: Ctrl-C reaches this process alone, which ends them in
 * order, and a group can be killed as one.
 */
function hold(child: ChildProcess): Tied {
  const { pid } = child
  child.on('error', () => {}) // told by the pid that is missing, or by the exit
  if (pid === undefined) throw new Error(`cannot start ${child.spawnfile}`)
  let running = true
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      running = false
      living.delete(tied)
      const timer = setTimeout(resolve, LAST_LINES_MS, { code, signal })
      // all that it printed has been read
      child.once('close', () => {
        clearTimeout(timer)
        resolve({ code, signal })
      })
    })
  })
  const signal = (name: NodeJS.Signals, target: number) => {
    if (!running) return
    try {
      process.kill(target, name)
    } catch {
      // it ended this instant; its exit event is on the way
    }
  }
  const tied: Tied = {
    pid,
    exited,
    stop: (graceMs = 10_000) => {
      signal('SIGTERM', pid)
      const timer = setTimeout(() => signal('SIGKILL', -pid), graceMs)
      return exited.finally(() => clearTimeout(timer))
    },
    kill: () => {
      signal('SIGKILL', -pid)
      return exited
    },
  }
  living.add(tied)
  return tied
}
