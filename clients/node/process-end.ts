/** One listener for all clients of the process, for as long as there is something to be called. */
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

/** Called when the process has nothing left to do and would end. */
export const whenIdle = shared<() => void>((on) => process[on ? 'on' : 'off']('beforeExit', idle))

function idle(): void {
  for (const task of [...whenIdle.tasks]) task()
}

/**
 * Called and waited for when SIGTERM comes. Then the signal is raised again, so that the process ends as it would have; unless it
 * has a listener of its own, as then it is for that one to end it.
 */
export const whenTerminated = shared<() => Promise<unknown>>((on) =>
  process[on ? 'prependListener' : 'off']('SIGTERM', terminated),
)

function terminated(): void {
  // first of all listeners, so that one that is there once is still counted
  const alone = process.listenerCount('SIGTERM') === 1
  void Promise.allSettled([...whenTerminated.tasks].map((task) => task())).then(() => {
    process.off('SIGTERM', terminated)
    if (alone) process.kill(process.pid, 'SIGTERM')
  })
}
