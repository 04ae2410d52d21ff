import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deleteEvents, performDeletion } from '../../../control/tasks/deletions/perform.ts'
import type { Deletion } from '../../../schemas/task.ts'
import type { Destination, Source } from '../../../settings/settings.ts'
import { keysOf } from '../../helpers/config-keys.ts'
import { api, VIEW } from '../api.ts'
import { crm, shop } from '../in-memory.ts'
import { aDeletion } from '../tasks-in-memory.ts'

const url = '/api/deletions'
const post = (body: unknown) => ({ method: 'POST', url, body })
const source = (id: string): Source => ({ ...shop, id, writeKey: `${id}-write-key` })
const destination = (id: string, more: Partial<Destination>): Destination => ({ ...crm, id, ...more })

/**
 * Of six sources, three have a destination that is on; `shop` has two. One of the three is of kind `notices`, and its
 * calls are not about users.
 */
const records = {
  sources: [
    ...['shop', 'app', 'site', 'off', 'alone'].map(source),
    { ...source('ops'), kind: 'notices' as const },
  ],
  destinations: [
    destination('crm', { sourceIds: ['shop', 'app', 'ops'] }),
    destination('again', { sourceIds: ['shop'], eventTypes: ['track'] }),
    destination('disabled', { sourceIds: ['off', 'shop'], enabled: false }),
  ],
}

describe('a deletion request', () => {
  test('is answered with the number of events: one for each user and each source with an enabled destination', async () => {
    const { ask, tasks } = api(records)
    const { status, headers, json } = await ask(post({ userIds: ['u1', 'u2', 'u1'] }))
    expect(status).toBe(202)
    expect(json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      state: 'accepted',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      users: 2,
      deletes: 4,
      sourceIds: ['shop', 'app'],
      suppressed: false,
    })
    expect(headers.location).toBe(`${url}/${json.id}`)
    expect(tasks).toMatchObject([{ id: json.id, userIds: ['u1', 'u2'], suppressedFor: [] }])
    expect(await ask({ url: `${url}/${json.id}`, token: VIEW })).toMatchObject({ status: 200, json })
    expect((await ask({ url })).json).toEqual({ items: [json], next: null })
  })

  test('covers all sources while a destination cannot be read, because its sources are unknown', async () => {
    const lost = { kind: 'destination', id: 'lost', reason: 'it is not a JSON object', since: 0 } as const
    const { ask } = api({ ...records, unreadable: [{ ...lost, isKept: false }] })
    expect((await ask(post({ userIds: ['u1'] }))).json.sourceIds).toEqual([
      'shop',
      'app',
      'site',
      'off',
      'alone',
    ])
    const kept = api({ ...records, unreadable: [{ ...lost, isKept: true }] })
    expect((await kept.ask(post({ userIds: ['u1'] }))).json.sourceIds).toEqual(['shop', 'app'])
  })

  test('of some sources leaves out the others and those that forward nothing', async () => {
    const { ask } = api(records)
    const { json } = await ask(post({ userIds: ['u1'], sourceIds: ['off', 'app', 'app', 'alone'] }))
    expect(json).toMatchObject({ deletes: 1, sourceIds: ['app'] })
  })

  test.each([
    [undefined, ['*']],
    [
      ['alone', 'shop'],
      ['alone', 'shop'],
    ],
  ])('that suppresses, of sources %j, puts its users on the list of %j', async (sourceIds, suppressedFor) => {
    const { ask, tasks } = api(records)
    const { json } = await ask(post({ userIds: ['u1'], sourceIds, suppress: true }))
    expect(json.suppressed).toBe(true)
    expect(tasks).toMatchObject([{ suppressedFor }])
  })

  test('with an id can be repeated: the second request gets 409', async () => {
    const { ask, tasks } = api(records)
    const mine = post({ id: 'ticket-17', userIds: ['u1'] })
    expect(await ask(mine)).toMatchObject({ status: 202, json: { id: 'ticket-17' } })
    expect(await ask(mine)).toMatchObject({ status: 409, json: { code: 'id_taken' } })
    expect(tasks).toHaveLength(1)
  })

  test.each<[string, unknown, string[]]>([
    ['nobody', {}, ['/userIds required']],
    ['no user', { userIds: [] }, ['/userIds too_few']],
    ['an empty id', { userIds: ['u1', ''] }, ['/userIds/1 too_short']],
    ['a number', { userIds: [42] }, ['/userIds/0 invalid_type']],
    ['half of a character', { userIds: ['u1', 'u\ud800'] }, ['/userIds/1 invalid_value']],
    [
      'over 5,000 users',
      { userIds: Array.from({ length: 5_001 }, (_, each) => `u${each}`) },
      ['/userIds too_many'],
    ],
    ['no source', { userIds: ['u1'], sourceIds: [] }, ['/sourceIds too_few']],
    ['an unknown source', { userIds: ['u1'], sourceIds: ['shop', 'nope'] }, ['/sourceIds/1 unknown_source']],
    ['a malformed source', { userIds: ['u1'], sourceIds: ['no id'] }, ['/sourceIds/0 invalid_format']],
    [
      'unknown and wrong fields',
      { userIds: ['u1'], suppress: 'yes', regulation: 'x' },
      ['/suppress invalid_type', '/regulation unknown_field'],
    ],
    [
      'ids of over 1 MB together',
      { userIds: Array.from({ length: 40 }, (_, each) => `${each}`.padEnd(25_000, 'x')) },
      ['/userIds too_large'],
    ],
    ['no object', ['u1'], [' invalid_type']],
  ])('of %s is refused with all its faults, and nothing comes of it', async (_, body, expected) => {
    const { ask, tasks } = api(records)
    const { status, json } = await ask(post(body))
    expect([status, json.code]).toEqual([400, 'validation_failed'])
    const faults = json.errors.map(
      (each: { pointer: string; code: string }) => `${each.pointer} ${each.code}`,
    )
    expect(faults).toEqual(expected)
    expect(tasks).toEqual([])
  })

  test('that would suppress too many users at too many sources is refused, with advice', async () => {
    const many = Array.from({ length: 11 }, (_, each) => source(`s${each}`))
    const { ask } = api({ sources: many })
    const userIds = Array.from({ length: 5_000 }, (_, each) => `u${each}`)
    const sourceIds = many.map(({ id }) => id)
    const refused = await ask(post({ userIds, sourceIds, suppress: true }))
    expect(refused.json.errors).toMatchObject([{ pointer: '/suppress', code: 'too_many' }])
    expect(refused.json.errors[0].message).toContain('leave sourceIds out')
    expect((await ask(post({ userIds, suppress: true }))).status).toBe(202)
    const most = post({ userIds, sourceIds: sourceIds.slice(0, 10), suppress: true })
    expect((await ask(most)).status).toBe(202)
  })

  test('needs the admin token, and no user id is in a response or the log', async () => {
    const { ask, lines } = api(records)
    const jane = post({ userIds: ['jane@example.com'] })
    expect((await ask({ ...jane, token: VIEW })).status).toBe(403)
    expect((await ask(jane)).text).not.toContain('jane')
    expect((await ask({ url })).text).not.toContain('jane')
    expect(lines.join()).toContain('deletion')
    expect(lines.join()).not.toContain('jane')
  })

  test('that does not exist gets 404', async () => {
    expect(await api(records).ask({ url: `${url}/nope` })).toMatchObject({ status: 404 })
  })
})

describe('the events of a deletion', () => {
  const task: Deletion = {
    kind: 'deletion',
    id: 'd1',
    state: 'accepted',
    createdAt: '2026-01-02T03:04:05.678Z',
    users: 1,
    deletes: 1,
    sourceIds: ['shop'],
    suppressedFor: [],
    userIds: ['u1'],
  }

  test('are of type delete, with the time of the request', () => {
    expect([...deleteEvents(task)]).toMatchObject([
      { type: 'delete', sourceId: 'shop', userId: 'u1', timestamp: Date.parse(task.createdAt) },
    ])
  })

  test('have secret ids: the router would drop a deletion if a call had used its id', async () => {
    const { ask, tasks } = api(records)
    await ask(post({ id: 'd1', userIds: ['u1'], sourceIds: ['shop'] }))
    const [made] = tasks as Deletion[]
    if (!made) expect.fail('no task')
    const [event] = deleteEvents(made)
    const [guessed] = deleteEvents({ ...task, id: 'd1' })
    expect(event?.messageId).not.toBe(guessed?.messageId)
    expect([...deleteEvents(made)]).toEqual([event])
    expect(JSON.stringify((await ask({ url: `${url}/d1` })).json)).not.toContain(made.salt ?? 'missing')
  })

  test('are one for each user and source, with a unique id that stays the same if repeated', () => {
    const some = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(some, some, (userIds, sourceIds) => {
        const events = [...deleteEvents({ ...task, userIds, sourceIds })]
        expect(new Set(events.map(({ messageId }) => messageId)).size).toBe(userIds.length * sourceIds.length)
        expect([...deleteEvents({ ...task, userIds, sourceIds })]).toEqual(events)
        const others = [...deleteEvents({ ...task, id: 'd2', userIds, sourceIds })]
        expect(others[0]?.messageId).not.toBe(events[0]?.messageId)
      }),
    )
  })
})

describe('a deletion that is performed', () => {
  const keys = keysOf(randomBytes(32))
  const userIds = Array.from({ length: 1_500 }, (_, user) => `u${user}`)
  const task = aDeletion({ userIds, suppressedFor: ['*'] })

  async function performed(parts: { owned?: number; suppresses?: boolean }) {
    let { owned = Number.POSITIVE_INFINITY } = parts
    const steps: string[] = []
    const end = performDeletion(task, () => owned-- > 0, {
      settings: { suppressions: new Map() },
      writer: {
        async write(decide) {
          const decision = decide()
          if (parts.suppresses === false) return { ok: false, unavailable: new Error('no broker') }
          if ('records' in decision) steps.push(`suppress ${decision.records.length}`)
          return { ok: true }
        },
      },
      keys,
      encode: () => Buffer.alloc(0),
      producer: {
        async produce(records) {
          steps.push(`delete ${records.length}`)
          return 'acked'
        },
      },
    })
    return { steps, end: await end.catch(({ message }) => message) }
  }

  test('suppresses its users before it sends their events', async () => {
    const { steps, end } = await performed({})
    expect(steps).toEqual([...Array(3).fill('suppress 500'), 'delete 1000', 'delete 500'])
    expect(end).toEqual({ ...task, state: 'done', userIds: [] })
  })

  test('sends nothing while its users cannot be suppressed', async () => {
    expect(await performed({ suppresses: false })).toEqual({ steps: [], end: 'no broker' })
  })

  test('stops once another process performs it', async () => {
    // asked before each batch
    const { steps, end } = await performed({ owned: 4 })
    expect([steps.at(-1), end]).toEqual(['delete 1000', undefined])
    // a suppression may have been removed since
    expect(await performed({ owned: 1 })).toEqual({ steps: ['suppress 500'], end: undefined })
    expect(await performed({ owned: 0 })).toEqual({ steps: [], end: undefined })
  })
})
