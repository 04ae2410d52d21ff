import { expect, test } from 'vitest'
import { performSync, type SyncParts } from '../../../control/tasks/audiences/perform.ts'
import { performReplay, type ReplayParts } from '../../../control/tasks/replays/perform.ts'
import type { Replay, Sync } from '../../../schemas/task.ts'
import { factsOf } from '../in-memory.ts'

const unread = { reason: 'it is not a JSON object', since: 0, isKept: false }
const isOwned = () => true

// what can be read of a setting decides before anything else is asked of Kafka
const nothingElse = new Proxy({}, { get: (_, name) => expect.fail(`${String(name)} was asked for`) })
const withSettings = <T>(settings: object) =>
  new Proxy(nothingElse, { get: (_, name) => (name === 'settings' ? settings : nothingElse) }) as T

test('a replay for a destination that cannot be read is tried again later, not ended as if it were removed', async () => {
  const settings = factsOf({ unreadable: [{ ...unread, kind: 'destination', id: 'crm' }] })
  const replay = { id: 'r1', destinationId: 'crm', ranges: [] } as Partial<Replay> as Replay
  await expect(performReplay(replay, isOwned, withSettings<ReplayParts>(settings))).rejects.toThrow(
    'the settings of destination crm cannot be read',
  )
})

test.each(['audience', 'trait'] as const)(
  'a sync of an %s that cannot be read is tried again later',
  async (kind) => {
    const settings = factsOf({ unreadable: [{ ...unread, kind, id: 'vip' }] })
    const sync = { of: { kind, id: 'vip' }, since: '2026-01-02T03:04:05.678Z' } as Partial<Sync> as Sync
    const parts = withSettings<SyncParts>({ ...settings, table: { caughtUp: async () => {} } })
    await expect(performSync(sync, isOwned, parts)).rejects.toThrow(
      `the settings of ${kind} vip cannot be read`,
    )
  },
)
