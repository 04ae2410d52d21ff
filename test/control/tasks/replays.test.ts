import { describe, expect, test } from 'vitest'
import { listed, replaysShape } from '../../../control/tasks/replays/routes.ts'
import type { Replay } from '../../../schemas/task.ts'
import { api, VIEW } from '../api.ts'
import { aDeadOne, deadHeld } from '../dead-in-memory.ts'
import { crm, inMemory } from '../in-memory.ts'
import { aReplay, tasksInMemory } from '../tasks-in-memory.ts'

const url = '/api/replays'
const post = (body: unknown) => ({ method: 'POST', url, body })
const wanted = { id: 'r1', destinationId: 'crm' }

describe('a replay', () => {
  test('is accepted, shown, listed, and cancelled once', async () => {
    const { ask } = api({ destinations: [crm] })
    const { status, json } = await ask(post(wanted))
    expect([status, json]).toMatchObject([
      202,
      { id: 'r1', state: 'running', total: 20, read: 0, what: 'dead' },
    ])
    expect(await ask({ url: `${url}/r1`, token: VIEW })).toMatchObject({ status: 200, json })
    expect((await ask({ url })).json).toEqual({ items: [json], next: null })
    const cancel = { method: 'DELETE', url: `${url}/r1` }
    expect(await ask(cancel)).toMatchObject({ status: 200, json: { state: 'cancelled' } })
    expect(await ask(cancel)).toMatchObject({ status: 409, json: { code: 'replay_ended' } })
  })

  test.each<[string, object, string]>([
    ['an unknown destination', { destinationId: 'nope' }, '/destinationId unknown_destination'],
    [
      'an end before its beginning',
      { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' },
      '/from invalid_value',
    ],
    ['no time at all', { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' }, '/from invalid_value'],
    ['the future', { from: '2999-01-01T00:00:00Z', to: '2999-01-02T00:00:00Z' }, '/from invalid_value'],
    ['a reason that no delivery dies of', { reason: 'window_expird' }, '/reason invalid_value'],
    ['a time before all events', { to: '0020-01-01T00:00:00Z' }, '/from invalid_value'],
  ])('of %s is refused', async (_, more, expected) => {
    const { status, json } = await api({ destinations: [crm] }).ask(post({ ...wanted, ...more }))
    const faults = json.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)
    expect([status, faults]).toEqual([400, [expected]])
  })

  test('from before 1970 starts at 1970, because negative times are special to Kafka', async () => {
    const asked: number[] = []
    const rangesOf = async ({ from }: { from: number }) => {
      asked.push(from)
      return []
    }
    const { ask } = api({ destinations: [crm] }, { rangesOf })
    const { status, json } = await ask(post({ ...wanted, from: '0020-02-29T00:00:00Z' }))
    expect([status, json.from, asked]).toEqual([202, '1970-01-01T00:00:00.000Z', [0]])
  })
})

describe('what another process has just written', () => {
  test('is read before a replay is refused', async () => {
    const { settings, writer } = inMemory()
    const table = { caughtUp: async () => void settings.destinations.set('crm', crm) }
    const { ask } = api({}, { settings: { ...settings, table }, writer })
    expect((await ask(post(wanted))).status).toBe(202)
  })

  test('is read before a cancellation gets 404', async () => {
    const { tasks, known, taskWriter } = tasksInMemory()
    const table = { ...tasks.table, caughtUp: async () => known.apply('replay/r1', aReplay()) }
    const { ask } = api({ destinations: [crm] }, { tasks: { ...tasks, table }, taskWriter })
    const cancel = (id: string) => ask({ method: 'DELETE', url: `${url}/${id}` })
    expect(await cancel('r1')).toMatchObject({ status: 200, json: { state: 'cancelled' } })
    expect(await cancel('r2')).toMatchObject({ status: 404, json: { code: 'not_found' } })
  })

  test('cannot be read while Kafka does not answer: a replay gets 503', async () => {
    const { settings, writer } = inMemory()
    const table = { caughtUp: () => Promise.reject(new Error('no broker')) }
    const { ask } = api({}, { settings: { ...settings, table }, writer })
    const { status, json } = await ask(post(wanted))
    expect([status, json.code]).toEqual([503, 'unavailable'])
    // nothing can have been written
    expect(json.message).not.toContain('your change')
    expect((await ask(post({ ...wanted, what: 'nothing' }))).status).toBe(400)
  })
})

describe('a replay of deliveries', () => {
  test('reads the records that they name', async () => {
    const { ask, tasks } = api({ destinations: [crm] })
    const entries = ['d3-40', 'd3-30', 'd1-7', 'd3-40']
    const { status, json } = await ask(post({ ...wanted, what: 'deliveries', entries }))
    expect([status, json]).toMatchObject([202, { what: 'deliveries', selected: 3, total: 12 }])
    expect(json).not.toHaveProperty('resent')
    expect(tasks).toMatchObject([
      {
        ranges: [
          { partition: 3, from: 30, to: 41 },
          { partition: 1, from: 7, to: 8 },
        ],
      },
    ])
    expect(tasks[0]).not.toHaveProperty('resent')
  })

  test('that replays made reads the topic of replays', async () => {
    const { ask, tasks } = api({ destinations: [crm] })
    expect((await ask(post({ ...wanted, what: 'deliveries', entries: ['r3-40'] }))).status).toBe(202)
    expect(tasks).toMatchObject([{ resent: true, places: [{ partition: 3, offset: 40 }] }])
  })

  test.each<[string, object, string[]]>([
    ['without entries', { what: 'deliveries' }, ['/entries']],
    ['of both kinds', { what: 'deliveries', entries: ['d1-1', 'r1-1'] }, ['/entries/1']],
    ['with a time', { what: 'deliveries', entries: ['d1-1'], from: '2026-01-01T00:00:00Z' }, ['/from']],
    ['with a condition', { what: 'deliveries', entries: ['d1-1'], user: 'u1' }, ['/user']],
    ['of dead letters with entries of deliveries', { entries: ['x1-1', 'd1-1'] }, ['/entries/1']],
    ['with entries of dead letters', { what: 'deliveries', entries: ['d1-1', 'x1-1'] }, ['/entries/1']],
    ['of events with entries', { what: 'events', entries: ['d1-1'] }, ['/entries']],
    ['of dead letters by entry and condition', { entries: ['x1-1'], event: 'E' }, ['/event']],
    [
      'of dead letters by entry and delivery id',
      { entries: ['x1-1'], deliveryIds: ['d1'] },
      ['/deliveryIds/0', '/entries'],
    ],
    ['with no such id', { what: 'deliveries', entries: ['1'] }, ['/entries/0']],
    [
      'with offsets so large that a sum of them is no number of records',
      { entries: ['x1-99999999999999'] },
      ['/entries/0'],
    ],
    ['of events with a condition', { what: 'events', skipReplayed: true }, ['/skipReplayed']],
    [
      'of dead letters by id and condition',
      { deliveryIds: ['d1'], event: 'E' },
      ['/event', '/deliveryIds/0'],
    ],
  ])('%s is refused', async (_, more, pointers) => {
    const { status, json } = await api({ destinations: [crm] }).ask(post({ ...wanted, ...more }))
    expect([status, json.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([400, pointers])
  })
})

describe('a replay of some dead letters', () => {
  const dead = () =>
    deadHeld(
      ['d1', 'd2', 'd1', 'd3', 'd4'].map((deliveryId, index) =>
        aDeadOne({ deliveryId, destinationId: index === 4 ? 'erp' : 'crm', deadAt: index }),
      ),
    )
  const ask = (body: object, parts: Parameters<typeof api>[1] = dead()) => {
    const made = api({ destinations: [crm] }, parts)
    return made.ask(post({ ...wanted, ...body })).then((answer) => ({ ...answer, tasks: made.tasks }))
  }

  test('reads their places: the last one if a delivery was given up twice, and one if it is listed twice', async () => {
    const { status, json, tasks } = await ask({ deliveryIds: ['d1', 'd2', 'd1'] })
    expect([status, json]).toMatchObject([202, { what: 'dead', selected: 2, total: 2, state: 'running' }])
    expect(json.places).toBeUndefined()
    expect(tasks).toMatchObject([
      {
        ranges: [{ partition: 0, from: 1, to: 3 }],
        places: [
          { partition: 0, offset: 2 },
          { partition: 0, offset: 1 },
        ],
      },
    ])
  })

  test('sends both deliveries of two users whose calls share a message id, and so a delivery id', async () => {
    const letters = [0, 1, 2].map((deadAt) => aDeadOne({ deliveryId: 'd1', destinationId: 'crm', deadAt }))
    const held = deadHeld(letters, { users: ['u1', 'u2', 'u1'] })
    const { json, tasks } = await ask({ deliveryIds: ['d1'] }, held)
    expect(json).toMatchObject({ selected: 2, total: 2 })
    expect(tasks).toMatchObject([{ places: [{ offset: 2 }, { offset: 1 }] }])
  })

  test('sends only the chosen dead letter, even if another user shares its delivery id', async () => {
    const letters = [0, 1].map((deadAt) => aDeadOne({ deliveryId: 'd1', destinationId: 'crm', deadAt }))
    const held = deadHeld(letters, { users: ['u1', 'u2'] })
    const listed = await api({ destinations: [crm] }, held).ask({ url: '/api/dead?user=u1' })
    const ids = listed.json.items.map(({ id }: { id: string }) => id)
    const { status, json, tasks } = await ask({ entries: ids }, held)
    expect([status, json]).toMatchObject([202, { what: 'dead', selected: 1, total: 1 }])
    expect(tasks).toMatchObject([{ places: [{ partition: 0, offset: 0 }] }])
  })

  test.each<[string, object, string[]]>([
    ['one that is not there', { deliveryIds: ['d1', 'gone'] }, ['/deliveryIds/1 unknown_delivery']],
    ['one of another destination', { deliveryIds: ['d4'] }, ['/deliveryIds/0 unknown_delivery']],
    ['none', { deliveryIds: [] }, ['/deliveryIds too_few']],
    ['too many', { deliveryIds: Array(1_001).fill('d1') }, ['/deliveryIds too_many']],
    ['something other than a list', { deliveryIds: 'd1' }, ['/deliveryIds invalid_type']],
    [
      'those of a time and a reason as well',
      { deliveryIds: ['d1'], reason: 'refused', from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
      ['/from invalid_value', '/to invalid_value', '/reason invalid_value'],
    ],
    ['events', { deliveryIds: ['d1'], what: 'events' }, ['/deliveryIds invalid_value']],
  ])('of %s is refused', async (_, body, expected) => {
    const { status, json } = await ask(body)
    const faults = json.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)
    expect([status, faults]).toEqual([400, expected])
  })

  test('waits until they are known', async () => {
    const { promise: loaded, resolve } = Promise.withResolvers<void>()
    let isLoaded = false
    const held = dead()
    const answer = ask({ deliveryIds: ['d1'] }, { dead: { ...held.dead, loaded, isLoaded: () => isLoaded } })
    setTimeout(() => {
      isLoaded = true
      resolve()
    }, 20)
    expect(await answer).toMatchObject({ status: 202 })
  })
})

const replay = (id: string, second: number, destinationId = 'crm'): Replay => ({
  kind: 'replay',
  id,
  destinationId,
  what: 'dead',
  perSecond: 500,
  createdAt: `2026-01-02T03:04:${String(second).padStart(2, '0')}.000Z`,
  state: 'done',
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-01-02T00:00:00.000Z',
  ranges: [],
  read: 0,
  replayed: 0,
  parked: 0,
})

const all = [replay('a', 3), replay('b', 9), replay('c', 9), replay('d', 1), replay('e', 20, 'erp')]

function pages(asked: object): string[][] {
  const found: string[][] = []
  for (let cursor: string | undefined; ; ) {
    const query = replaysShape.parse({ ...asked, ...(cursor !== undefined && { cursor }) })
    const { items, next } = listed(all, query)
    found.push(items.map(({ id }) => id))
    if (next === null) return found
    cursor = next
  }
}

test('come in id order by default', () => {
  expect(pages({ limit: '2' })).toEqual([['a', 'b'], ['c', 'd'], ['e']])
})

test('come newest first on request, page by page', () => {
  expect(pages({ newest: 'true', limit: '2' })).toEqual([['e', 'b'], ['c', 'a'], ['d']])
})

test('can be limited to one destination', () => {
  expect(pages({ newest: 'true', destinationId: 'erp' })).toEqual([['e']])
  expect(pages({ destinationId: 'gone' })).toEqual([[]])
})
