import { isObject } from './fields.ts'

/** Listens only while there are tasks. */
function shared<Task>(listen: (on: boolean) => void) {
  const tasks = new Set<Task>()
  return {
    tasks,
    add(task: Task): void {
      tasks.add(task)
      if (tasks.size === 1) listen(true)
    },
    remove(task: Task): void {
      if (tasks.delete(task) && tasks.size === 0) listen(false)
    },
  }
}

type Shared<Task> = ReturnType<typeof shared<Task>>

/** Called when the process is about to exit for lack of work. */
export const whenIdle = shared<() => void>((on) => process[on ? 'on' : 'off']('beforeExit', idle))

function idle(): void {
  for (const task of [...whenIdle.tasks]) task()
}

/** Another stored structure needs another number. */
const TERMINATED = Symbol.for('sluice-analytics: called on SIGTERM, 1')

/**
 * Awaited on SIGTERM. Then the signal is raised again, unless the program has its own listener, which may be ending the
 * process. Listeners of signal-exit, a common indirect dependency, do not count: they leave the exit to any other
 * listener.
 *
 * All copies of this package in a process share the tasks and the listener: two listeners would leave the exit to each
 * other.
 */
export const whenTerminated = ofProcess(
  TERMINATED,
  shared<() => Promise<unknown>>((on) => process[on ? 'prependListener' : 'off']('SIGTERM', terminated)),
)

function ofProcess<Task>(key: symbol, value: Shared<Task>): Shared<Task> {
  const first: unknown = Reflect.get(globalThis, key)
  if (first) return first as Shared<Task> // set by another copy of this package
  Object.defineProperty(globalThis, key, { value })
  return value
}

function terminated(): void {
  // runs before the other listeners, so that those added with `once` still count
  const isOnlyListener = process.listenerCount('SIGTERM') - ofSignalExit() === 1
  void Promise.allSettled([...whenTerminated.tasks].map((task) => task())).then(() => {
    if (!isOnlyListener) return
    process.off('SIGTERM', terminated)
    process.kill(process.pid, 'SIGTERM')
  })
}

/** Both versions of signal-exit store their number of listeners globally. */
function ofSignalExit(): number {
  const emitters: unknown[] = [
    Reflect.get(globalThis, Symbol.for('signal-exit emitter')),
    Reflect.get(process, '__signal_exit_emitter__'),
  ]
  return emitters.reduce<number>(
    (sum, emitter) => sum + (isObject(emitter) && typeof emitter.count === 'number' ? emitter.count : 0),
    0,
  )
}
