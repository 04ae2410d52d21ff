import type { Tasks } from '../../control/tasks/follow.ts'
import type { FencedWriter } from '../../kafka/fenced.ts'
import {
  type Deletion,
  type Progress,
  type Replay,
  type Sync,
  type TaskRecord,
  taskCodec,
} from '../../schemas/task.ts'

/** The tasks and their writer without Kafka; `topic` is what would be in it, record by record. */
export function tasksInMemory() {
  const deletions = new Map<string, Deletion>()
  const syncs = new Map<string, Sync>()
  const replays = new Map<string, Replay>()
  const progress = new Map<string, Progress>()
  const topic: TaskRecord[] = []
  const last = new Map<string, Buffer>()
  const taskWriter: Pick<FencedWriter, 'write'> = {
    async write(decide) {
      const decision = decide()
      if ('refusal' in decision) return { ok: false, refusal: decision.refusal }
      for (const { key, value } of decision.records) await apply(String(key), Buffer.from(value ?? ''))
      return { ok: true }
    },
  }

  async function apply(key: string, value: Buffer): Promise<void> {
    const decoded = await taskCodec.decode(value)
    if (!decoded.ok) throw new Error(decoded.message)
    last.set(key, value)
    topic.push(decoded.value)
    const task = decoded.value
    if (task.kind === 'deletion') deletions.set(task.id, task)
    else if (task.kind === 'sync') syncs.set(task.id, task)
    else if (task.kind === 'replay') replays.set(task.id, task)
    else progress.set(task.id, task)
  }

  const table: Tasks['table'] = {
    caughtUp: async () => {},
    reached: async () => {},
    get: (key) => last.get(key),
  }
  return { tasks: { deletions, syncs, replays, progress, table }, taskWriter, topic }
}
