import { describe, expect, test } from 'vitest'
import type { Asked, Searching } from '../../../../control/activity/events/search.ts'
import {
  createLatestEvents,
  type EventsBySource,
  type PreviewRequest,
  previewOf,
} from '../../../../control/activity/preview/preview.ts'
import { render } from '../../../../delivery/render.ts'
import { compileRules } from '../../../../rules/compile.ts'
import { codec } from '../../../../schemas/codec.ts'
import type { Event } from '../../../../schemas/event.ts'
import { aDestination, anEvent } from '../../../helpers/events.ts'
import { api, VIEW } from '../../api.ts'
import { shop } from '../../in-memory.ts'

const HASH_KEY = 'a-hash-key-of-this-test'
const crm = aDestination({ hashKey: HASH_KEY })
const received = Date.parse('2026-01-02T03:04:05.678Z')
const paid = anEvent({ messageId: 'm1', event: 'Paid', receivedAt: received })
const left = anEvent({ messageId: 'm2', event: 'Left', receivedAt: received })

function aPreview(events: Event[] = [paid, left], latest?: EventsBySource['latest']) {
  const asked: unknown[] = []
  const found: EventsBySource['latest'] = async (request) => {
    asked.push(request)
    return { items: events, next: null, searchedSince: null }
  }
  const memory = api({ sources: [shop], destinations: [crm] }, { latestEvents: { latest: latest ?? found } })
  const preview = (body: object, token?: string) =>
    memory.ask({ method: 'POST', url: '/api/destinations/preview', body, ...(token && { token }) })
  return { ...memory, preview, asked }
}

const filter = { path: 'event', eq: 'Paid' }

describe('a preview', () => {
  test('says what the rules do with each recent event', async () => {
    const { preview, asked } = aPreview()
    const { status, json } = await preview({ rules: { filter }, sourceIds: ['shop'], eventTypes: ['track'] })
    expect([status, json]).toMatchObject([
      200,
      {
        items: [
          { messageId: 'm1', outcome: 'sent', receivedAt: '2026-01-02T03:04:05.678Z', condition: null },
          { messageId: 'm2', outcome: 'filtered', condition: '/filter', body: null },
        ],
        searchedSince: null,
      },
    ])
    expect(JSON.parse(json.items[0].body)).toMatchObject({ event: 'Paid', userId: 'u1' })
    expect(asked).toMatchObject([{ last: 50, sourceIds: ['shop'], eventTypes: ['track'] }])
  })

  test('is refused for a destination whose newest record cannot be read: its key may be another', async () => {
    const unread = {
      kind: 'destination',
      id: 'crm',
      reason: 'unknown field x',
      isKept: true,
      since: 0,
    } as const
    const { ask } = api(
      { sources: [shop], destinations: [crm], unreadable: [unread] },
      { latestEvents: { latest: async () => ({ items: [paid], next: null, searchedSince: null }) } },
    )
    const preview = (body: object) => ask({ method: 'POST', url: '/api/destinations/preview', body })
    const body = { rules: { filter }, sourceIds: ['shop'] }
    const refused = await preview({ ...body, destinationId: 'crm' })
    expect([refused.status, refused.json]).toMatchObject([409, { code: 'setting_unreadable' }])
    expect((await preview(body)).status).toBe(200)
  })

  test("hashes with the destination's key, or with a random key if none is given", async () => {
    const { preview } = aPreview([paid])
    const rules = { redact: [{ path: 'userId', as: 'hash' }] }
    const userOf = async (more: object) => {
      const { json } = await preview({ rules, sourceIds: ['shop'], ...more })
      return JSON.parse(json.items[0].body).userId
    }
    expect(await userOf({ destinationId: 'crm' })).toBe(await userOf({ destinationId: 'crm' }))
    expect(await userOf({})).not.toBe(await userOf({}))
  })

  test('needs the admin token, because it shows bodies and runs a search', async () => {
    const { preview } = aPreview()
    expect(await preview({ rules: {}, sourceIds: ['shop'] }, VIEW)).toMatchObject({ status: 403 })
  })

  test('reports everything wrong with the request at once', async () => {
    const { preview } = aPreview()
    const rules = { filter: { path: 'nope', eq: 1 }, shape: { a: '{{userId | shout}}' } }
    const { status, json } = await preview({ rules, sourceIds: ['shop', 'gone'], destinationId: 'gone' })
    const faults = json.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)
    expect([status, faults.toSorted()]).toEqual([
      400,
      [
        '/destinationId unknown_destination',
        '/rules/filter/path invalid_path',
        '/rules/shape/a invalid_placeholder',
        '/sourceIds/1 unknown_source',
      ],
    ])
    const misshaped = await preview({ rules: { ...rules, sample: 0.1 }, sourceIds: [] })
    expect(misshaped.json.errors.map(({ pointer }: Record<string, string>) => pointer).toSorted()).toEqual([
      '/rules/filter/path',
      '/rules/sample',
      '/rules/shape/a',
      '/sourceIds',
    ])
    for (const last of [0, 201, 1.5])
      expect(await preview({ rules: {}, sourceIds: ['shop'], last })).toMatchObject({ status: 400 })
  })

  test('answers 429 while too many searches run, and 503 while Kafka does not answer', async () => {
    const request = { rules: {}, sourceIds: ['shop'] }
    const busy = aPreview([], () => undefined)
    expect(await busy.preview(request)).toMatchObject({ status: 429, json: { code: 'too_many_searches' } })
    const down = aPreview([], () => Promise.reject(new Error('no broker')))
    expect(await down.preview(request)).toMatchObject({ status: 503 })
  })

  test('leaves other methods to a destination with the id preview', async () => {
    const preview = aDestination({ id: 'preview' })
    const { ask } = api({ destinations: [preview] })
    expect(await ask({ url: '/api/destinations/preview' })).toMatchObject({
      status: 200,
      json: { id: 'preview' },
    })
  })
})

test('bodies beyond 4 MB in one answer are left out', async () => {
  const shape = { all: Array.from({ length: 8 }, () => '{{properties.text}}') }
  const event = anEvent({ properties: JSON.stringify({ text: 'x'.repeat(30_000) }) })
  const rules = compileRules({ shape }, Buffer.alloc(32), render)
  const { items } = await previewOf(
    { items: Array.from({ length: 40 }, () => event), next: null, searchedSince: 5 },
    rules,
    // otherwise, a busy machine would try them on fewer events
    () => 0,
  )
  const shown = items.filter(({ body }) => body !== null)
  expect(items.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 40 }, () => 'sent'))
  expect(shown.length).toBe(17)
  expect(items.at(-1)).toMatchObject({ body: null, message: expect.stringContaining('4 MB') })
})

test('rules that take long run on fewer events, and other requests run in between', async () => {
  const events = Array.from({ length: 5 }, (_, nth) => anEvent({ receivedAt: received - nth }))
  let seconds = 0
  const compiled = compileRules({}, Buffer.alloc(32), render)
  let others = 0
  const waiting: number[] = []
  const run: typeof compiled.run = (event) => {
    seconds += 1
    waiting.push(others)
    setImmediate(() => {
      others += 1
    })
    return compiled.run(event)
  }
  const clock = () => seconds * 1_000
  const found = { items: events, next: null, searchedSince: null }
  const { items, searchedSince } = await previewOf(found, { ...compiled, run }, clock)
  expect([items.length, searchedSince]).toEqual([3, '2026-01-02T03:04:05.676Z'])
  expect(waiting).toEqual([0, 1, 2])
  expect(await previewOf(found, compiled, () => 0)).toMatchObject({
    items: { length: 5 },
    searchedSince: null,
  })
})

test('a preview looks only at events of its sources and types that are meant for webhooks', async () => {
  const events = codec('event', 1, { client: { getSchema: () => Promise.reject(new Error('no registry')) } })
  let asked: Asked<Event> | undefined
  const searching = ((given: Asked<Event>) => {
    asked = given
    return undefined
  }) as Searching
  const request: Pick<PreviewRequest, 'sourceIds' | 'eventTypes' | 'last'> = {
    sourceIds: ['shop'],
    eventTypes: ['track'],
    last: 3,
  }
  const reader = { partitions: 1, read: async () => undefined }
  createLatestEvents(searching, { reader, codec: events }).latest(request)
  const found = (key: string, event: Partial<Event>) =>
    asked?.parts[0]?.find(events.encode(anEvent(event)), Buffer.from(key), {
      partition: 0,
      offset: 0,
      timestamp: 0,
    })
  expect(asked).toMatchObject({ limit: 3, isNarrow: false })
  expect(found('shop/u1', {})).toMatchObject({ messageId: 'm1' })
  expect(found('shop2/u1', {})).toBeUndefined()
  expect(found('shop/u1', { type: 'page' })).toBeUndefined()
  expect(found('shop/u1', { integrations: '{"Webhooks":false}' })).toBeUndefined()
})
