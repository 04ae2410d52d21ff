import { createEndedSessions } from '../../control/api/auth/sessions.ts'
import { createTaskIndex, type Tasks } from '../../control/tasks/task-table.ts'
import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import { type Deletion, type Replay, type Sync, type Task, taskCodec } from '../../schemas/task.ts'

/** `topic` has what would be in Kafka. */
export function tasksInMemory() {
  const known = createTaskIndex()
  const topic: Task[] = []
  const endedSessions = createEndedSessions()
  const taskWriter: Pick<FencedWriter, 'write'> = {
    async write(decide) {
      const decision = decide()
      if ('refusal' in decision) return { ok: false, refusal: decision.refusal }
      for (const { key, value } of decision.records)
        await apply(String(key), value === null ? null : Buffer.from(value))
      return { ok: true }
    },
  }

  async function apply(key: string, value: Buffer | null): Promise<void> {
    if (endedSessions.apply(key, value ?? undefined)) return
    if (value === null) {
      known.apply(key, undefined)
      return
    }
    const decoded = await taskCodec.decode(value)
    if (!decoded.ok) throw new Error(decoded.message)
    topic.push(decoded.value)
    known.apply(key, decoded.value)
  }

  const table: Tasks['table'] = {
    caughtUp: async () => {},
    supposing: (work) => work(() => {}),
    reached: async () => {},
    onRead: () => {},
  }
  return { tasks: { ...known, table }, known, taskWriter, topic, endedSessions }
}

const stored = { createdAt: '2026-01-02T03:04:05.678Z', state: 'accepted' } as const

export const aDeletion = (fields: Partial<Deletion> = {}): Deletion => ({
  ...stored,
  kind: 'deletion',
  id: 'd1',
  users: 1,
  deletes: 1,
  sourceIds: ['shop'],
  suppressedFor: [],
  userIds: ['u1'],
  ...fields,
})

export const aSync = (fields: Partial<Sync> = {}): Sync => ({
  ...stored,
  kind: 'sync',
  id: 's1',
  of: { kind: 'audience', id: 'vip' },
  others: 'removed',
  ranges: [],
  lines: 1,
  ...fields,
})

export const aReplay = (fields: Partial<Replay> = {}): Replay => ({
  ...stored,
  kind: 'replay',
  id: 'r1',
  destinationId: 'crm',
  what: 'dead',
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-01-02T00:00:00.000Z',
  perSecond: 500,
  ranges: [{ partition: 0, from: 10, to: 30 }],
  read: 0,
  replayed: 0,
  parked: 0,
  ...fields,
})
