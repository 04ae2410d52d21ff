import { type Deletion, type Replay, type Sync, type Task, taskKey } from '../../schemas/task.ts'

/** What is known of tasks: the last record of each. */
export type Known = {
  deletions: ReadonlyMap<string, Deletion>
  syncs: ReadonlyMap<string, Sync>
  replays: ReadonlyMap<string, Replay>
  /** Those that are not over, by key, in the order in which they were accepted. */
  undone: ReadonlyMap<string, Task>
}

/** Tasks in memory, as topic `tasks` tells of them. */
export function createKnown(): Known & {
  /** @param task undefined: it is not kept any more. */
  apply(key: string, task: Task | undefined): void
} {
  const deletions = new Map<string, Deletion>()
  const syncs = new Map<string, Sync>()
  const replays = new Map<string, Replay>()
  const undone = new Map<string, Task>()

  function put(task: Task): void {
    if (task.kind === 'deletion') deletions.set(task.id, task)
    else if (task.kind === 'sync') syncs.set(task.id, task)
    else replays.set(task.id, task)
  }

  return {
    deletions,
    syncs,
    replays,
    undone,
    apply(key, task) {
      if (task?.state === 'accepted') undone.set(key, task)
      else undone.delete(key)
      if (task) put(task)
      else for (const all of [deletions, syncs, replays]) forget(all, key)
    },
  }
}

function forget(all: Map<string, Task>, key: string): void {
  const task = all.get(key.slice(key.indexOf('/') + 1))
  if (task && taskKey(task) === key) all.delete(task.id)
}
