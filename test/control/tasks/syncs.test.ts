import { describe, expect, test } from 'vitest'
import { syncShape } from '../../../control/tasks/audiences/sync.ts'
import { waitPreference } from '../../../control/tasks/audiences/upload-operations.ts'
import type { Sync } from '../../../schemas/task.ts'
import { api, VIEW } from '../api.ts'
import { aSync, tasksInMemory } from '../tasks-in-memory.ts'

const url = '/api/syncs'
const cancel = (id: string) => ({ method: 'DELETE', url: `${url}/${id}` })

function apiOf(...syncs: readonly Sync[]) {
  const { known, ...parts } = tasksInMemory()
  for (const sync of syncs) known.apply(`sync/${sync.id}`, sync)
  return { ...api({}, parts), topic: parts.topic }
}

describe('syncs', () => {
  const day = (date: number) => `2026-01-0${date}T00:00:00.000Z`
  const syncs = [
    aSync({ id: 'b', createdAt: day(2) }),
    aSync({ id: 'a', createdAt: day(1), state: 'done' }),
    aSync({ id: 'c', createdAt: day(2), of: { kind: 'trait', id: 'vip' } }),
    aSync({ id: 'd', createdAt: day(3), of: { kind: 'audience', id: 'other' } }),
  ]

  test.each([
    ['', ['d', 'b', 'c', 'a'], null],
    ['?audienceId=vip', ['b', 'a'], null],
    ['?traitId=vip', ['c'], null],
    ['?audienceId=nobody', [], null],
    ['?limit=2', ['d', 'b'], expect.any(String)],
  ])('asked for with "%s" are listed newest first', async (query, expected, next) => {
    const { json } = await apiOf(...syncs).ask({ url: url + query, token: VIEW })
    expect([json.items.map(({ id }: Sync) => id), json.next]).toEqual([expected, next])
  })

  test('are listed to the end, even if the last one of a page expires', async () => {
    const first = await apiOf(...syncs).ask({ url: `${url}?limit=2` })
    const left = syncs.filter(({ id }) => id !== first.json.items[1].id)
    const { json } = await apiOf(...left).ask({ url: `${url}?cursor=${first.json.next}` })
    expect(json).toMatchObject({ items: [{ id: 'c' }, { id: 'a' }], next: null })
  })

  test('show what is documented, and nothing that only control needs', async () => {
    const running = aSync({ since: day(1), refusesManyRemovals: true, skipped: 2 })
    const { json } = await apiOf(running).ask({ url: `${url}/s1` })
    expect(syncShape.parse(json)).toMatchObject({ id: 's1', skipped: 2 })
  })

  test('say why they failed', async () => {
    const cause = { code: 'gave_up', message: 'no broker' }
    const { json } = await apiOf(aSync({ state: 'failed', cause })).ask({ url: `${url}/s1` })
    expect(json).toMatchObject({ id: 's1', audienceId: 'vip', state: 'failed', cause })
  })
})

describe('a sync', () => {
  test('is cancelled once', async () => {
    const { ask, topic, lines } = apiOf(aSync())
    expect(await ask({ ...cancel('s1'), token: VIEW })).toMatchObject({ status: 403 })
    expect(await ask(cancel('s1'))).toMatchObject({ status: 200, json: { id: 's1', state: 'cancelled' } })
    expect(topic).toMatchObject([{ state: 'cancelled', finishedAt: expect.any(String) }])
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ audit: true, what: 'sync', outcome: 'cancelled', id: 's1' }),
    )
    expect(await ask(cancel('s1'))).toMatchObject({ status: 409, json: { code: 'sync_ended' } })
  })

  test('that deletes the users of a removed resource cannot be cancelled', async () => {
    const { ask } = apiOf(aSync({ others: 'forgotten' }))
    expect(await ask(cancel('s1'))).toMatchObject({ status: 409, json: { code: 'sync_ended' } })
  })

  test('that does not exist cannot be cancelled', async () => {
    expect(await apiOf().ask(cancel('s1'))).toMatchObject({ status: 404 })
  })
})

test('an upload in the meantime names the sync in progress', async () => {
  const { known, ...parts } = tasksInMemory()
  known.apply('sync/s1', aSync())
  const vip = { id: 'vip', name: 'VIP', sourceId: 'shop', key: 'vip', createdAt: '', lastSyncAt: null }
  const records = { audiences: [{ ...vip, version: 1, updatedAt: '' }] }
  const headers = { 'content-type': 'text/plain' }
  const upload = { method: 'PUT', url: '/api/audiences/vip/members', body: 'u1\n', headers }
  const { status, json } = await api(records, parts).ask(upload)
  expect([status, json.code, json.message]).toEqual([
    409,
    'sync_running',
    expect.stringContaining('/api/syncs/s1'),
  ])
})

test.each([
  [undefined, Number.POSITIVE_INFINITY],
  ['return=minimal', Number.POSITIVE_INFINITY],
  ['wait=3', Number.POSITIVE_INFINITY],
  ['not-respond-async', Number.POSITIVE_INFINITY],
  ['respond-async', 5_000],
  ['Respond-Async, WAIT=20', 20_000],
  ['wait="0", respond-async; x=1', 0],
  ['respond-async, wait=soon', 5_000],
])('who sends Prefer: %s waits %s ms', (prefer, expected) => {
  expect(waitPreference({ headers: prefer === undefined ? {} : { prefer } })).toBe(expected)
})
