import { describe, expect, test } from 'vitest'
import { refusal } from '../../../ingest/answer.ts'
import type { Facts } from '../../../ingest/call/accept.ts'
import { acceptBatch } from '../../../ingest/call/batch.ts'
import { jsonBytes } from '../../../ingest/call/json.ts'

const NOW = Date.parse('2026-01-02T03:04:05.678Z')
const facts: Facts = { sourceId: 'shop', receivedAt: NOW, ip: '203.0.113.9', newId: () => 'made' }
const call = (fields: object = {}) => ({ type: 'identify', userId: 'u', ...fields })

const parsed = (value: unknown) => ({ value, bytes: jsonBytes(value) })

function taken(body: unknown) {
  const accepted = acceptBatch(parsed(body), facts)
  if (!accepted.ok) throw new Error(`refused: ${accepted.code}`)
  return accepted
}

function refused(body: unknown) {
  const accepted = acceptBatch(parsed(body), facts)
  return accepted.ok ? 'taken' : accepted.code
}

const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })

describe('a batch', () => {
  test('accepts valid calls, and lists the others by index', () => {
    const { events, rejected } = taken({
      batch: [
        call({ messageId: 'a' }),
        { type: 'track', userId: 'u' },
        5,
        call({ messageId: 'd' }),
        { type: 'x' },
      ],
    })
    expect(events.map(({ messageId }) => messageId)).toEqual(['a', 'd'])
    expect(rejected.map(({ index, code }) => [index, code])).toEqual([
      [1, 'event_not_defined'],
      [2, 'call_not_object'],
      [4, 'unknown_type'],
    ])
  })

  test.each([[null], [5], [[call()]], [{}], [{ batch: null }], [{ batch: {} }], [{ batch: 'x' }]])(
    'of %j is batch_not_array',
    (body) => {
      expect(refused(body)).toBe('batch_not_array')
    },
  )

  test('without calls is empty_batch', () => {
    expect(refused({ batch: [] })).toBe('empty_batch')
  })

  test('of 2,500 calls is accepted, of one more is too_many_calls', () => {
    expect(refused({ batch: Array(2_500).fill(call()) })).toBe('taken')
    expect(refused({ batch: Array(2_501).fill(call()) })).toBe('too_many_calls')
  })

  // a control character takes six bytes of JSON
  test.each([
    ['x', 33_000],
    ['\u0001', 5_500],
  ])('with a call above 32 KB rejects only that call (%j)', (character, length) => {
    const big = call({ traits: { a: character.repeat(length) } })
    expect(taken({ batch: [call(), big] })).toMatchObject({
      events: [{}],
      rejected: [{ index: 1, code: 'call_too_large' }],
    })
  })
})

describe('the shared fields of a batch', () => {
  test.each<[string, object, object, object]>([
    ['context is that of calls without one', { context: { library: 1 } }, {}, { context: '{"library":1}' }],
    [
      "context is under the call's, key by key",
      { context: { library: 1, ip: 'b' } },
      { context: { ip: 'c' } },
      { context: '{"library":1,"ip":"c"}' },
    ],
    [
      'context is merged at the first level only',
      { context: { app: { a: 1 } } },
      { context: { app: { b: 2 } } },
      { context: '{"app":{"b":2}}' },
    ],
    [
      'integrations are under the call’s',
      { integrations: { All: false } },
      { integrations: { Webhooks: true } },
      { integrations: '{"All":false,"Webhooks":true}' },
    ],
    [
      "integrations are under those in the call's context",
      { integrations: { All: false } },
      { context: { integrations: { All: true } } },
      { integrations: '{"All":true}' },
    ],
    [
      'integrations may be in its context',
      { context: { integrations: { All: false } } },
      {},
      { integrations: '{"All":false}' },
    ],
    ['context of null is none', { context: null }, {}, { context: null }],
    [
      'sentAt corrects the times of its calls',
      { sentAt: '2026-01-02T03:04:04.678Z' },
      { timestamp: '2026-01-02T00:00:00Z' },
      { timestamp: Date.parse('2026-01-02T00:00:01Z') },
    ],
    [
      'sentAt gives way to that of a call',
      { sentAt: '2026-01-02T00:00:00Z' },
      { sentAt: '2026-01-02T03:04:05.678Z', timestamp: '2026-01-02T00:00:00Z' },
      { timestamp: Date.parse('2026-01-02T00:00:00Z') },
    ],
  ])('%s', (_rule, own, fields, expected) => {
    expect(taken({ ...own, batch: [call(fields)] }).events[0]).toMatchObject(expected)
  })

  test.each<[string, object]>([
    ['accepted', { context: { a: 1 }, integrations: { b: true } }],
    ['accepted without their own', {}],
    ['rejected for their properties', { context: { a: 1 }, integrations: { b: true }, properties: 5 }],
    ['rejected for their integrations', { context: { a: 1 }, integrations: { All: 5 } }],
  ])('are read equally often for few and for many calls that are %s', (_what, fields) => {
    const readsFor = (count: number) => {
      let reads = 0
      function ownKeys(target: object): (string | symbol)[] {
        reads += 1
        return Reflect.ownKeys(target)
      }
      const counted = () => new Proxy({ x: 1 }, { ownKeys })
      const body = { context: counted(), integrations: counted(), batch: Array(count).fill(call(fields)) }
      acceptBatch({ value: body, bytes: 1_000 }, { ...facts, addressRule: { fill: true, as: 'full' } })
      return reads
    }
    expect(readsFor(50)).toBe(readsFor(2))
  })

  test('that are not objects reject the calls without their own', () => {
    expect(taken({ context: 'x', batch: [call(), call({ context: {} })] })).toMatchObject({
      events: [{ context: '{}' }],
      rejected: [{ index: 0, code: 'context_not_object' }],
    })
  })

  test('that are too deep refuse the batch', () => {
    expect(refused({ context: nested(63), batch: [call()] })).toBe('taken')
    expect(refused({ context: nested(64), batch: [call()] })).toBe('too_deep')
    expect(refused({ integrations: nested(64), batch: [call()] })).toBe('too_deep')
  })

  const ofBytes = (bytes: number) => ({ a: 'x'.repeat(bytes - jsonBytes({ a: '' })) })

  test('may have 32 KB', () => {
    expect(refused({ context: ofBytes(32_768), batch: [call()] })).toBe('taken')
    expect(refused({ context: ofBytes(32_769), batch: [call()] })).toBe('batch_too_large')
  })

  /** Besides its JSON: 100 bytes, the source's id and the message id twice. */
  const EACH = 100 + 2 * 'shop'.length + 2 * 'made'.length

  /** Most bytes of one event's JSON, in a batch of `count` with `bytes`. */
  const share = (count: number, bytes: number) => Math.floor((262_144 + 8 * bytes) / count)

  test('count integrations inside the context twice, as each event stores them twice', () => {
    const calls = Array(2_500).fill(call())
    const copies = (bytes: number) => ({ integrations: ofBytes(bytes) })
    const bytes = share(2_500, jsonBytes({ batch: calls })) - 30 - EACH
    expect(refused({ context: copies(Math.floor(bytes / 2)), batch: calls })).toBe('taken')
    expect(refused({ context: copies(bytes), batch: calls })).toBe('batch_too_large')
  })

  test.each([
    ['of the least calls', {}, 2_500],
    ['of everyday calls', { messageId: 'mine', traits: { plan: 'x'.repeat(100) } }, 1_000],
    ['of few calls', {}, 9],
  ])(
    'may come to 256 KB and 8 times its bytes in all events: a small body must not become a flood (%s)',
    (_what, fields: { traits?: object }, count) => {
      const calls = Array(count).fill(call(fields))
      const copies = (bytes: number) => ({ context: ofBytes(bytes), batch: calls })
      const least = jsonBytes(copies(100)) - 100
      // the user id counts twice
      const own = EACH + 2 + (fields.traits ? jsonBytes(fields.traits) : 0)
      // (own + bytes) * count = 262,144 + 8 * (least + bytes)
      const most = Math.min(32_768, Math.floor((262_144 + 8 * least - own * count) / (count - 8)))
      expect(refused(copies(most))).toBe('taken')
      expect(refused(copies(most + 1))).toBe('batch_too_large')
    },
  )

  test('may come to exactly that size in all events, and to no byte more', () => {
    const calls = Array(10).fill(call({ traits: ofBytes(30_000) }))
    const of = (bytes: number) => acceptBatch({ value: { batch: calls }, bytes }, facts).ok
    // 10 * 30,118 = 262,144 + 8 * 4,879.5
    expect([of(4_880), of(4_879)]).toEqual([true, false])
  })

  test('count together with numbers that grow when they are stored: 1e20 has 21 digits', () => {
    const numbers = Array(1_000).fill('1e20').join()
    const each = `{"type":"identify","userId":"u","context":{"integrations":{"a":[${numbers}]}}}`
    const ask = (shared: number) => {
      const context = `{"a":"${'x'.repeat(shared)}"}`
      const text = `{"batch":[${Array(60).fill(each).join()}],"context":${context}}`
      const accepted = acceptBatch({ value: JSON.parse(text), bytes: text.length }, facts)
      return accepted.ok ? 'taken' : accepted.code
    }
    // 306 KB of JSON become 2.65 MB; 2.7 MB are allowed
    expect(ask(100)).toBe('taken')
    expect(ask(4_000)).toBe('batch_too_large')
  })

  test.each([
    ['copies of the context', { context: { a: 'x'.repeat(8_000) } }, call({ context: { b: 1 } })],
    ['names, which may be any JSON', {}, call({ name: Array(720).fill(1e20) })],
    ['rejected calls', {}, { type: 'page', name: Array(720).fill(1e20) }],
    [
      'ids, twice if they are in the key too',
      {},
      call({ userId: 'u'.repeat(4_000), groupId: 'g'.repeat(4_000) }),
    ],
  ])('of gzip count toward 20 times its size: %s', (_, shared, each) => {
    const value = { ...shared, batch: Array(100).fill(each) }
    const of = (wireBytes: number) => acceptBatch({ value, bytes: 500_000, wireBytes }, facts).ok
    // 0.8 to 1.7 MB; 256 KB plus 160 times 3 and 10 KB are allowed
    expect([of(3_000), of(10_000)]).toEqual([false, true])
  })

  test.each([
    ['calls', call({ messageId: '€'.repeat(100) })],
    ['calls without an id', call()],
    ['rejected calls', call({ userId: [] })],
  ])('count with ids, times and framing, as Kafka stores them: small %s', (_what, each) => {
    const long = { ...facts, sourceId: 's'.repeat(64), newId: () => 'x'.repeat(36) }
    const value = { batch: Array(2_500).fill(each) }
    const of = (wireBytes: number) => acceptBatch({ value, bytes: jsonBytes(value), wireBytes }, long).ok
    // 0.6 to 2.1 MB; 256 KB plus 160 times 0.5 and 12 KB are allowed
    expect([of(500), of(12_000)]).toEqual([false, true])
  })

  test('count rejected calls with 100 bytes each, even a number', () => {
    const of = (wireBytes: number) =>
      acceptBatch({ value: { batch: Array(2_500).fill(1) }, bytes: 5_011, wireBytes }, facts).ok
    // 2,500 * (1 + 2 * 4 + 100) = 272,500; 262,144 plus 160 times 59 and 80 bytes are allowed
    expect([of(59), of(80)]).toEqual([false, true])
  })

  test('count rejected calls with their code and message, if these are long', () => {
    const text = '{"type":"page","userId":[]}'
    const { code, message } = refusal('id_not_string')
    const each = Buffer.byteLength(text + code + message) + 2 * facts.sourceId.length + 30
    const value = { batch: Array(2_000).fill(JSON.parse(text)) }
    const of = (most: number) =>
      acceptBatch({ value, bytes: 60_000, wireBytes: (most - 262_144) / 160 }, facts).ok
    expect([of(2_000 * each - 1), of(2_000 * each)]).toEqual([false, true])
  })
})
