import { describe, expect, test } from 'vitest'
import { account, afterEndOf, afterOutage, type Facts, holds } from '../../torture/account.ts'

const answered = (messageId: string, deliveryId = `id-${messageId}`) => ({
  webhook: 'http://127.0.0.1:9001/0',
  destinationId: 'crm',
  messageId,
  deliveryId,
})

const facts = (more: Partial<Facts> = {}): Facts => ({
  accepted: new Set(['m1']),
  events: new Set(['m1']),
  routed: new Set(['crm m1']),
  answered: [answered('m1')],
  dead: new Set(),
  cancelled: new Set(),
  recorded: new Set(['crm m1']),
  mistaken: new Set(),
  steady: ['crm'],
  ...more,
})

test('what was delivered, given up or cancelled is accounted for, each once', () => {
  const result = account(
    facts({
      accepted: new Set(['m1', 'm2', 'm3']),
      events: new Set(['m1', 'm2', 'm3']),
      routed: new Set(['crm m1', 'crm m2', 'crm m3']),
      answered: [answered('m1')],
      dead: new Set(['crm m1', 'crm m2']),
      cancelled: new Set(['crm m2', 'crm m3']),
    }),
  )
  expect(result).toMatchObject({ delivered: 1, dead: 1, cancelled: 1, again: 0 })
  expect(holds(result)).toBe(true)
})

test.each([
  ['an accepted call that is no event', { accepted: new Set(['m1', 'm2']) }, { accepted: ['m2'] }],
  ['an event that went nowhere', { events: new Set(['m1', 'm2']) }, { unrouted: ['crm m2'] }],
  ['a delivery that has no end', { answered: [] }, { unsettled: ['crm m1'] }],
  [
    'one that comes again as another',
    { answered: [answered('m1'), answered('m1', 'x')] },
    { strangeIds: ['crm m1'] },
  ],
  ['one recorded as delivered that no webhook accepted', { answered: [] }, { unaccepted: ['crm m1'] }],
])('%s does not hold', (_, more, missing) => {
  const result = account(facts(more))
  expect(result.missing).toMatchObject(missing)
  expect(holds(result)).toBe(false)
})

describe('a destination with rules', () => {
  const choosy = { destinationId: 'some', wants: (messageId: string) => messageId === 'm1' }
  const both = { events: new Set(['m1', 'm2']), routed: new Set(['crm m1', 'crm m2', 'some m1']) }
  const all = { ...both, choosy, dead: both.routed }

  test('gets the events that they want, and no others', () => {
    expect(holds(account(facts(all)))).toBe(true)
  })

  test.each([
    ['one that they want is missing', ['crm m1', 'crm m2'], { unrouted: ['some m1'] }],
    ['one came that they exclude', [...both.routed, 'some m2'], { unwanted: ['some m2'] }],
    ['so did one whose event a power cut removed', [...both.routed, 'some m3'], { unwanted: ['some m3'] }],
  ])('%s: does not hold', (_, routed, missing) => {
    const result = account(facts({ ...all, routed: new Set(routed), dead: new Set(routed) }))
    expect(result.missing).toMatchObject(missing)
    expect(holds(result)).toBe(false)
  })
})

test('a POST that shows what rules hide does not hold', () => {
  const result = account(facts({ unredacted: new Set(['crm m1']) }))
  expect(result.missing).toMatchObject({ unredacted: ['crm m1'] })
  expect(holds(result)).toBe(false)
})

test("the answer to another delivery's POST settles a delivery", () => {
  const keys = new Set(['crm m1', 'crm m2'])
  const recorded = { events: new Set(['m1', 'm2']), routed: keys, recorded: keys }
  const result = account(facts({ ...recorded, mistaken: new Set(['crm m1', 'crm m2']) }))
  // a webhook also accepted the first
  expect(result).toMatchObject({ mistaken: 1, delivered: 1 })
  expect(holds(result)).toBe(true)
  expect(account(facts(recorded)).missing).toMatchObject({ unsettled: ['crm m2'], unaccepted: ['crm m2'] })
})

test('what comes again as the same is counted, and holds', () => {
  const result = account(facts({ answered: [answered('m1'), answered('m1'), answered('m1')] }))
  expect(result).toMatchObject({ again: 2, most: 3 })
  expect(holds(result)).toBe(true)
})

test('any number of deliveries is counted', () => {
  const many = Array.from({ length: 200_000 }, (_, index) => answered(`m${index}`))
  expect(account(facts({ answered: many }))).toMatchObject({ delivered: 200_000, again: 0, most: 1 })
})

test('a delivery that each of its webhooks accepts does not come again', () => {
  const second = { ...answered('m1'), webhook: 'http://127.0.0.1:9002/0' }
  expect(account(facts({ answered: [answered('m1'), second] }))).toMatchObject({ again: 0, most: 1 })
  expect(account(facts({ answered: [answered('m1'), second, second] }))).toMatchObject({ again: 1, most: 2 })
})

test('an accepted event whose client got no answer may be in the topic', () => {
  expect(holds(account(facts({ accepted: new Set() })))).toBe(true)
})

const range = (from: number, to: number, more = {}) => ({ topic: 'events', partition: 0, from, to, ...more })
const cut = (from: number, to: number) => ({ ...range(from, to), kind: 'events' }) as const

test.each([
  ['by one', [range(5, 7)], 2],
  ['by two of the same', [range(5, 7), range(5, 7)], 2],
  ['by two of parts', [range(6, 7), range(5, 6)], 2],
  ['by one of more', [range(0, 5), range(4, 9)], 2],
  ['of a part', [range(6, 9)], 1],
  [
    'of others',
    [range(0, 5), range(7, 9), range(5, 7, { partition: 1 }), range(5, 7, { topic: 'config' })],
    0,
  ],
  ['of nothing', [], 0],
])('reported records are subtracted from what a power cut removed: %s', (_, reported, sum) => {
  const accepted = new Set(['m1', 'm2', 'm3'])
  const result = account(facts({ accepted, cuts: [cut(5, 7)], reported }))
  expect(result).toMatchObject({ cut: { events: 2 }, reported: { events: sum, deliveries: 0, retries: 0 } })
  expect(result.missing.accepted).toHaveLength(2 - sum)
  expect(holds(result)).toBe(sum === 2)
})

test('a record that no power cut removed counts as lost, whatever is reported', () => {
  const accepted = new Set(['m1', 'm2'])
  expect(holds(account(facts({ accepted, reported: [range(0, 100)] })))).toBe(false)
})

describe('a record that a power cut removed and nobody reported', () => {
  const keys = new Map([
    [5, 'crm m1'],
    [6, 'crm m2'],
  ])
  const cuts = [{ ...cut(5, 7), kind: 'deliveries', topic: 'deliveries', keys } as const]
  const reported = (from: number, to: number) => [range(from, to, { topic: 'deliveries' })]

  test('must have been written again', () => {
    expect(account(facts({ cuts, reported: reported(6, 7) }))).toMatchObject({
      rewritten: 1,
      missing: { unreported: [] },
    })
    const result = account(facts({ cuts, reported: reported(5, 6) }))
    expect(result).toMatchObject({ rewritten: 0, missing: { unreported: ['crm m2'] } })
    expect(holds(result)).toBe(false)
  })

  test('is counted separately if its writer was ended soon after', () => {
    const unwitnessed = cuts.map((each) => ({ ...each, isUnwitnessed: true }))
    const result = account(facts({ events: new Set(['m1', 'm2']), cuts: unwitnessed, reported: [] }))
    expect(result).toMatchObject({ unwitnessed: { events: 0, deliveries: 2, retries: 0 }, excused: 1 })
    expect(holds(result)).toBe(true)
  })

  test('counts as lost if it could not be read', () => {
    const unread = [{ ...cut(7, 8), keys } as const]
    expect(account(facts({ cuts: unread })).missing.unreported).toEqual(['events-0@7'])
  })
})

describe('lost records explain only what they held', () => {
  const accepted = new Set(['m1', 'm2', 'm3'])
  const cuts = [{ ...cut(5, 6), keys: new Map([[5, 'm2']]) }]

  test.each([
    ['reported', { cuts, reported: [range(5, 6)] }],
    ['unwitnessed', { cuts: cuts.map((each) => ({ ...each, isUnwitnessed: true })) }],
  ])('an accepted call, if it is %s', (_, more) => {
    const result = account(facts({ accepted, ...more }))
    expect(result).toMatchObject({ excused: 1, missing: { accepted: ['m3'] } })
  })

  test('a delivery without an outcome, if it was a retry', () => {
    const routed = new Set(['crm m1', 'crm m2', 'crm m3'])
    const retries = { ...range(0, 2, { topic: 'deliveries.due' }), kind: 'retries' } as const
    const keys = new Map([
      [0, 'crm m2'],
      [1, 'crm m2'],
    ])
    const of = (isUnwitnessed: boolean) =>
      account(facts({ routed, cuts: [{ ...retries, keys, isUnwitnessed }] }))
    expect(of(true).missing).toMatchObject({ unsettled: ['crm m3'] })
    expect(of(false).missing).toMatchObject({ unsettled: ['crm m2', 'crm m3'] })
  })
})

test.each([
  ['router', 'deliveries', 14_999, true],
  ['router', 'deliveries', 15_000, false],
  ['router', 'events', 0, false],
  ['ingest', 'events', 0, true],
  ['deliverer', 'retries', 0, true],
] as const)('the end of %s marks a cut of %s after %d ms: %s', (role, kind, ms, expected) => {
  const [marked] = afterEndOf(role, [{ ...range(0, 1), kind, at: 7_000 }], 7_000 + ms)
  expect(marked?.isUnwitnessed ?? false).toBe(expected)
})

test.each([
  ['Kafka was away', undefined, 'deliveries', 30_000],
  ['its writer was frozen', 'router', 'deliveries', 30_000],
  ['another process was frozen', 'router', 'events', 7_000],
] as const)('the time to notice a cut begins again if %s', (_, role, kind, at) => {
  const cuts = [{ ...range(0, 1), kind, at: 7_000 }]
  expect(afterOutage(cuts, { began: 9_000, ended: 30_000, role })).toMatchObject([{ at }])
  expect(afterOutage(cuts, { began: 22_000, ended: 30_000, role })).toMatchObject([{ at: 7_000 }])
})
