import { randomUUID } from 'node:crypto'
import type { OutRecord } from '../../kafka/produce/produce.ts'
import { type Task, taskCodec, taskKey } from '../../schemas/task.ts'
import { TASKS } from '../../schemas/topics.ts'

/** Never twice the same: after a failure a writer tells by it whether its own is there (kafka/produce/transactions.ts), or another's of the same millisecond. */
export function taskRecord(task: Task): OutRecord {
  const unique = { ...task, nonce: randomUUID() }
  return { topic: TASKS, key: taskKey(task), value: taskCodec.encode(unique) }
}

/** Nothing is kept of a task from then on. */
export const tombstone = (task: Task): OutRecord => ({ topic: TASKS, key: taskKey(task), value: null })
