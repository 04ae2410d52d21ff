import { expect, test } from 'vitest'
import { createSemaphore } from '../../control/api/concurrency.ts'
import { openReaders, performSync, type SyncParts } from '../../control/tasks/audiences/perform.ts'
import { upload } from '../../control/tasks/audiences/upload-records.ts'
import type { Connection } from '../../kafka/client.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import type { Sync } from '../../schemas/task.ts'
import { EVENTS, MEMBERS, UPLOADS } from '../../schemas/topics.ts'
import type { Computation } from '../../settings/settings.ts'
import { closing, connection, connectTo, readAll } from '../helpers/cluster.ts'
import { keysOf } from '../helpers/config-keys.ts'

const now = '2026-01-02T03:04:05.678Z'
const audience = (id: string, createdAt = now): Computation => ({
  id,
  name: id,
  key: id,
  sourceId: 'shop',
  createdAt,
  lastSyncAt: null,
  version: 1,
  updatedAt: createdAt,
})
const users = (count: number, from = 0) => Array.from({ length: count }, (_, user) => `u${from + user}`)

/** The audiences `vip` and `new`, with functions to upload members and to read events. */
async function audiences() {
  const kafka = await connection([{ name: UPLOADS }, { name: MEMBERS }, { name: EVENTS }])
  const producer = closing(await createProducer(kafka))
  const onFatal = (error: Error) => {
    throw error
  }
  const { readerOf } = closing(openReaders(kafka, onFatal))
  const known = new Map([audience('vip'), audience('new')].map((each) => [each.id, each]))
  const suppressed = new Set<string>()
  const syncs = new Map<string, Sync>()
  const parts: SyncParts = {
    readerOf,
    producer,
    // the test reads the events, not a router
    encode: (event) => Buffer.from(JSON.stringify(event)),
    semaphore: createSemaphore(3),
    keys: keysOf(Buffer.alloc(32)),
    tasks: { syncs },
    writer: { write: async () => ({ ok: true }) },
    settings: {
      audiences: known,
      traits: new Map(),
      unreadable: new Map(),
      suppressedUsers: () => suppressed,
      table: { caughtUp: async () => {} } as SyncParts['settings']['table'],
    },
  }

  async function uploaded(id: string, members: readonly string[], more: Partial<Sync> = {}): Promise<Sync> {
    const of = { kind: 'audience', id } as const
    const changes = [members.map((userId) => ({ userId, value: 'true' }))]
    const sync = { kind: 'sync', id: crypto.randomUUID(), createdAt: now, of, others: 'removed' } as const
    const taken = await upload({ changes, id: sync.id, of }, parts)
    return { ...sync, state: 'accepted', since: now, ...taken, ...more }
  }

  /** As `user value`. */
  async function told(key: string): Promise<string[]> {
    const events = (await readAll(kafka, EVENTS)).map(({ value }) => JSON.parse(String(value)))
    return events.flatMap(({ userId, traits }) => {
      const said = JSON.parse(traits)
      return key in said ? [`${userId} ${said[key]}`] : []
    })
  }

  const perform = (sync: Sync, isOwned = () => true) => performSync(sync, isOwned, parts)
  return { kafka, known, suppressed, syncs, uploaded, told, perform }
}

async function deleteUploads({ kafka, named }: Connection, { partition, to }: Sync['ranges'][number]) {
  const admin = kafka.admin()
  await admin.connect()
  await admin.fetchTopicOffsets(named(UPLOADS)) // else kafkajs does not know the leaders
  await admin.deleteTopicRecords({ topic: named(UPLOADS), partitions: [{ partition, offset: String(to) }] })
  await admin.disconnect()
}

test('an upload that expired in part before the comparison fails, and notifies about no one as having left', async () => {
  const { kafka, uploaded, told, perform } = await audiences()
  expect(await perform(await uploaded('vip', users(50)))).toMatchObject({
    state: 'done',
    counts: { changed: 50 },
  })
  const again = await uploaded('vip', users(50))
  await deleteUploads(kafka, again.ranges.at(-1) ?? expect.fail('there is nothing uploaded'))
  await expect(perform(again)).rejects.toMatchObject({ name: 'TaskFailed', code: 'upload_lost' })
  expect(await told('vip')).toHaveLength(50)
})

test('an upload with fewer lines in Kafka than accepted does not end as done', async () => {
  const { uploaded, perform } = await audiences()
  const sync = await uploaded('vip', users(10))
  await expect(perform({ ...sync, lines: 11 })).rejects.toMatchObject({ code: 'upload_lost' })
  // lines may be in Kafka twice
  expect(await perform({ ...sync, lines: 9 })).toMatchObject({ state: 'done' })
})

test('two audiences are compared at once, each completely', async () => {
  const { uploaded, told, perform } = await audiences()
  const syncs = await Promise.all([uploaded('vip', users(5_000)), uploaded('new', users(5_000, 2_500))])
  const ends = await Promise.all(syncs.map((sync) => perform(sync)))
  expect(ends).toMatchObject(syncs.map(({ id }) => ({ id, state: 'done', counts: { changed: 5_000 } })))
  expect(new Set(await told('vip')).size).toBe(5_000)
  expect(new Set(await told('new')).size).toBe(5_000)
})

test.each<[string, Computation | undefined]>([
  ['removed', undefined],
  ['made anew under the same id', audience('vip', '2026-01-02T03:04:06.000Z')],
])(
  'one that is %s meanwhile sends no more events, and its stored members can be removed',
  async (_, next) => {
    const { kafka, known, uploaded, told, perform } = await audiences()
    const sync = await uploaded('vip', users(20_000))
    let asked = 0
    const end = await perform(sync, () => {
      asked += 1
      // twice for each thousand users
      if (asked === 5) {
        known.delete('vip')
        if (next) known.set('vip', next)
      }
      return true
    })
    expect(end).toMatchObject({ state: 'cancelled' })
    expect(await told('vip')).toHaveLength(2_000)
    // started late, it notifies about no one
    expect(await perform(sync)).toMatchObject({ state: 'cancelled' })
    const { since: __, ...rest } = sync
    const forgetting: Sync = { ...rest, others: 'forgotten', ranges: [], lines: 0 }
    expect(await perform(forgetting)).toMatchObject({ state: 'done' })
    expect(await told('vip')).toHaveLength(2_000)
    const kept = new Map((await readAll(kafka, MEMBERS)).map(({ key, value }) => [key, value.length]))
    expect(kept.size).toBe(2_000)
    expect([...kept.values()].filter((length) => length > 0)).toEqual([])
  },
)

test('an upload that removes many is refused also if the first sync was cancelled after it had sent some', async () => {
  const { uploaded, told, perform } = await audiences()
  const first = await uploaded('vip', users(5_000), { refusesManyRemovals: true })
  let asked = 0
  // it loses the task after the first thousand users
  expect(await perform(first, () => ++asked <= 2)).toBeUndefined()
  expect(await told('vip')).toHaveLength(1_000)
  const small = await uploaded('vip', ['u0'], { refusesManyRemovals: true })
  expect(await perform(small)).toMatchObject({ state: 'cancelled', cause: { code: 'many_removals' } })
  expect(await told('vip')).toHaveLength(1_000)
})

test.each<[string, Sync['state'], Sync['state'], number]>([
  ['cancelled while Kafka was slow stores what receivers were told', 'cancelled', 'accepted', 1_000],
  ['cancelled like the one after it stores what receivers were told', 'cancelled', 'cancelled', 1_000],
  ['cancelled while this process was paused stores nothing after a later one', 'cancelled', 'done', 0],
  ['ended by another process while this one was paused stores nothing late', 'done', 'accepted', 0],
])('a sync that was %s', async (_, state, next, stored) => {
  const { kafka, syncs, uploaded, told, perform } = await audiences()
  const sync = await uploaded('vip', users(5_000))
  const later = { ...sync, createdAt: '2026-01-02T03:05:05.678Z', state: next }
  syncs.set('of-another', { ...later, id: 'of-another', of: { kind: 'audience', id: 'new' }, state: 'done' })
  syncs.set('before', { ...later, id: 'before', createdAt: '2026-01-02T03:03:05.678Z', state: 'done' })
  let asked = 0
  expect(
    await perform(sync, () => {
      asked += 1
      if (asked > 1) {
        syncs.set(sync.id, { ...sync, state })
        syncs.set('later', { ...later, id: 'later' })
      }
      return asked === 1
    }),
  ).toBeUndefined()
  expect(await told('vip')).toHaveLength(1_000)
  expect(await readAll(kafka, MEMBERS)).toHaveLength(stored)
})

test('members who join or leave while suppressed are included in the first sync afterwards', async () => {
  const { suppressed, uploaded, told, perform } = await audiences()
  const counts = async (members: readonly string[]) => (await perform(await uploaded('vip', members)))?.counts
  await counts(['stays', 'leaves'])
  for (const user of ['joins', 'leaves']) suppressed.add(user)
  for (const _ of ['first', 'second'])
    expect(await counts(['stays', 'joins'])).toEqual({ changed: 0, removed: 0, unchanged: 1, suppressed: 2 })
  suppressed.clear()
  expect(await counts(['stays', 'joins'])).toEqual({ changed: 1, removed: 1, unchanged: 1, suppressed: 0 })
  expect((await told('vip')).toSorted()).toEqual(['joins true', 'leaves false', 'leaves true', 'stays true'])
})

test('readers that wait for Kafka do not keep a process from stopping', async () => {
  const readers = openReaders(connectTo('127.0.0.1:1'), () => undefined)
  readers.readerOf(UPLOADS).catch(() => undefined)
  const began = performance.now()
  await readers.close()
  expect(performance.now() - began).toBeLessThan(10_000)
})
