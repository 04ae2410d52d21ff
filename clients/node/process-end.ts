import { isObject } from './fields.ts'

/** One listener for all tasks, for as long as there is something to be called. */
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

/** Called when the process has nothing left to do and would end. */
export const whenIdle = shared<() => void>((on) => process[on ? 'on' : 'off']('beforeExit', idle))

function idle(): void {
  for (const task of [...whenIdle.tasks]) task()
}

/** The number is that of what is kept there: a version of this package that keeps something else has another. */
const TERMINATED = Symbol.for('sluice-analytics: called on SIGTERM, 1')

/**
 * Called and waited for when SIGTERM comes. Then the signal is raised again, so that the process ends as it would have. Not when it
 * has a listener of its own: that one has seen the signal, may be at work to end the process, and is not to see it twice. But those
 * of the package signal-exit, which many others bring along, leave the end to any other listener, and to us too: they do not count.
 *
 * All copies of this package in a process have these tasks and this listener in common: of two listeners each would leave the end
 * of the process to the other.
 */
export const whenTerminated = ofProcess(
  TERMINATED,
  shared<() => Promise<unknown>>((on) => process[on ? 'prependListener' : 'off']('SIGTERM', terminated)),
)

function ofProcess<Task>(key: symbol, own: Shared<Task>): Shared<Task> {
  const first: unknown = Reflect.get(globalThis, key)
  if (first) return first as Shared<Task> // what the next line of another copy has put there
  Object.defineProperty(globalThis, key, { value: own })
  return own
}

function terminated(): void {
  // first of all listeners, so that one that is there once is still counted
  const endsByUs = process.listenerCount('SIGTERM') - ofSignalExit() === 1
  void Promise.allSettled([...whenTerminated.tasks].map((task) => task())).then(() => {
    if (!endsByUs) return
    process.off('SIGTERM', terminated)
    process.kill(process.pid, 'SIGTERM')
  })
}

/** How many of the listeners are signal-exit's: both its versions keep this number where the other finds it. */
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
