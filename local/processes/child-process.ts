import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** A child process that ends when this process ends, even by kill -9. */
export type Child = {
  readonly pid: number
  /** Resolves after all output has been read. */
  readonly exited: Promise<Exit>
  /** Sends SIGTERM, then SIGKILL after `graceMs`. */
  stop(graceMs?: number): Promise<Exit>
  kill(): Promise<Exit>
}

export type SpawnOptions = {
  args: readonly string[]
  cwd?: string
  env?: NodeJS.ProcessEnv
  onLine?: (line: string) => void
}

/**
 * Kills the program when this process is gone: the watcher's socket closes, and its read fails. A line makes the
 * watcher exit. `exec` keeps the pid, so `$$` is the program. Plain sh, for Linux and macOS.
 */
const WATCHED = '(read -r _ <&3 || kill -9 $$) >/dev/null 2>&1 & exec "$@" 3<&- </dev/null'

/** A program that does not exist exits with 127. @throws when there is no `sh` */
export function spawnChild(program: string, { args, cwd, env, onLine = () => {} }: SpawnOptions): Child {
  const spawned = spawn('/bin/sh', ['-c', WATCHED, 'sh', program, ...args], {
    cwd,
    env: env ?? process.env,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  for (const input of [spawned.stdout, spawned.stderr])
    if (input) createInterface({ input }).on('line', onLine)
  const child = track(spawned)
  const watcher = spawned.stdio[3]
  if (!(watcher instanceof Socket)) throw new Error('fd 3 of a child is not a socket')
  watcher.on('error', () => {}) // 'close' follows
  watcher.on('close', () => void child.kill()) // without its watcher the child would outlive us
  watcher.resume()
  spawned.once('exit', () => watcher.end('\n'))
  return child
}

const EXIT_WITH_PARENT = fileURLToPath(new URL('./exit-with-parent.ts', import.meta.url))

/** Inherits this process's flags, stdout and stderr. Ends with us, as the IPC channel closes. */
export function spawnNodeChild(script: string, { args, cwd, env }: Omit<SpawnOptions, 'onLine'>): Child {
  const flags = [...process.execArgv, '--import', EXIT_WITH_PARENT]
  return track(
    spawn(process.execPath, [...flags, script, ...args], {
      cwd,
      env: env ?? process.env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    }),
  )
}

/** A grandchild may hold the pipe open for longer. */
const LAST_LINES_MS = 500

const running = new Set<Child>()

export async function killAllChildren(): Promise<void> {
  await Promise.all([...running].map((child) => child.kill()))
}

/** Children are `detached`: each leads a process group that can be killed as one, and Ctrl-C reaches only us. */
function track(spawned: ChildProcess): Child {
  const { pid } = spawned
  spawned.on('error', () => {}) // seen as a missing pid, or as the exit
  if (pid === undefined) throw new Error(`cannot start ${spawned.spawnfile}`)
  const exited = exitOf(spawned)
  const signal = (name: NodeJS.Signals, target: number) => {
    if (!running.has(child)) return
    try {
      process.kill(target, name)
    } catch {
      // just ended; its exit event follows
    }
  }
  const child: Child = {
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
  running.add(child)
  spawned.once('exit', () => running.delete(child))
  return child
}

function exitOf(spawned: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    spawned.once('exit', (code, signal) => {
      const timer = setTimeout(resolve, LAST_LINES_MS, { code, signal })
      spawned.once('close', () => {
        clearTimeout(timer)
        resolve({ code, signal })
      })
    })
  })
}
