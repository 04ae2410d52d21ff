import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ALL } from '../../../../control/activity/live/channel.ts'
import { createLiveCalls, type LiveCallsParts } from '../../../../control/activity/live/live-calls.ts'
import { callJson, rejectedJson } from '../../../../control/activity/records/call-json.ts'
import { openWatcher } from '../../../../control/activity/stream/watcher.ts'
import type { TailRecord } from '../../../../kafka/tables/tail.ts'
import type { Attempt } from '../../../../schemas/attempt.ts'
import type { Event } from '../../../../schemas/event.ts'
import type { Rejected } from '../../../../schemas/rejected.ts'
import { EVENTS, REJECTED } from '../../../../schemas/topics.ts'
import { codePoint } from '../../../helpers/code-point.ts'
import { anEvent } from '../../../helpers/events.ts'
import { anAttempt } from '../../attempts-in-memory.ts'

const aRejected = (fields: Partial<Rejected> = {}): Rejected => ({
  sourceId: 'shop',
  code: 'missing_user',
  message: 'A user is needed',
  raw: '{"type":"track"}',
  receivedAt: Date.parse('2026-01-02T03:04:05.678Z'),
  truncated: false,
  ...fields,
})

/** `told`: as `call m1`, `attempt m1 200`. */
function watcher() {
  const told: string[] = []
  const messages: string[] = []
  function send(message: string): void {
    messages.push(message)
    const [, event = '', data = '{}'] = /event: (\w+)\ndata: (.*)\n\n$/.exec(message) ?? []
    const { messageId, code, status, count, calls } = JSON.parse(data)
    told.push([event, messageId ?? code, status, count ?? calls].filter((word) => word != null).join(' '))
  }
  return { told, messages, send, end: () => void told.push('end') }
}

/** The values are JSON here. */
function show(parts: Partial<LiveCallsParts> = {}) {
  const clock = { now: 0 }
  const skipped: number[] = []
  let offset = 0
  const made = createLiveCalls({
    sources: new Map([
      ['shop', { writeKey: 'shop-write-key' }],
      ['blog', { writeKey: 'blog-write-key' }],
    ]),
    attemptsOf: () => [],
    decodeEvent: (value, onValue) => onValue(JSON.parse(String(value))),
    decodeRejected: (value, onValue) => onValue(JSON.parse(String(value))),
    now: () => clock.now,
    onSkipped: (count) => count > 0 && skipped.push(count),
    ...parts,
  })
  function record(topic: string, value: Event | Rejected, timestamp = ++offset): TailRecord {
    const key = Buffer.from(topic === EVENTS ? `${value.sourceId}/u/1` : value.sourceId)
    const place = { topic, partition: 1, offset, timestamp, headers: {} }
    return { ...place, key, value: Buffer.from(JSON.stringify(value)) }
  }
  const call = (messageId: string, { at, ...fields }: Partial<Event> & { at?: number } = {}) =>
    made.call(record(EVENTS, anEvent({ messageId, ...fields }), at))
  const rejected = (code: string) => made.call(record(REJECTED, aRejected({ code })))
  const join = (sourceId = 'shop') => {
    const joined = watcher()
    made.join(sourceId, joined)
    return joined
  }
  return { ...made, raw: made.call, joinAs: made.join, clock, skipped, call, rejected, join }
}

test('a new watcher gets recent calls of the source in time order, then new ones', () => {
  const { call, rejected, begin, join } = show()
  call('second', { at: 20 })
  call('first', { at: 10 })
  call('another', { sourceId: 'blog', at: 15 })
  begin()
  rejected('missing_user')
  const { told } = join()
  expect(told).toEqual(['rejected missing_user', 'call first', 'call second', 'ready 3'])
  call('third')
  call('elsewhere', { sourceId: 'blog' })
  rejected('too_deep')
  expect(told.slice(4)).toEqual(['call third', 'rejected too_deep'])
})

test('a new watcher gets at most fifty recent calls', () => {
  const { call, join } = show()
  for (let index = 0; index < 60; index++) call(`m${index}`)
  expect(join().told).toEqual([
    ...Array.from({ length: 50 }, (_, index) => `call m${index + 10}`),
    'ready 50',
  ])
})

test('a watcher that leaves gets nothing more, but others do', () => {
  const { call, begin, join, leave } = show()
  begin()
  const [one, two] = [join(), join()]
  leave('shop', one)
  call('m1')
  expect([one.told, two.told]).toEqual([['ready 0'], ['ready 0', 'call m1']])
})

test('the streams of a deleted source end with the reason, and others go on', () => {
  const sources = new Map(['shop', 'blog'].map((id) => [id, { writeKey: `${id}-write-key` }]))
  const { begin, join, call, endDeleted } = show({ sources })
  begin()
  const [one, two, other, all] = [join(), join(), join('blog'), join(ALL)]
  endDeleted()
  sources.delete('shop')
  endDeleted()
  call('m1', { sourceId: 'blog' })
  expect([one.told, two.told]).toEqual(Array(2).fill(['ready 0', 'ended source_deleted', 'end']))
  expect(one.messages.at(-1)).toContain('"message":"Source shop was deleted"')
  expect([other.told, all.told]).toEqual(Array(2).fill(['ready 0', 'call m1']))
})

test('records of unknown sources, or without key or value, are skipped', () => {
  const { call, raw, join } = show()
  call('m1', { sourceId: 'gone' })
  expect(join('gone').told).toEqual(['ready 0'])
  const nothing = { topic: EVENTS, partition: 0, offset: 0, timestamp: 0, headers: {} }
  raw({ ...nothing, key: null, value: Buffer.from('{}') })
  raw({ ...nothing, key: Buffer.from('shop/u1'), value: null })
  expect(join().told).toEqual(['ready 0'])
})

describe('attempts of a call', () => {
  const tried = (messageId: string, status: number, more: Partial<Attempt> = {}) =>
    anAttempt({ messageId, status, ...more })

  test('are the latest thousand at most, so that `ready` follows even if many calls share a messageId', () => {
    const many = Array.from({ length: 3_000 }, (_, at) => tried('shared', 200, { startedAt: at }))
    const { call, join } = show({ attemptsOf: () => many })
    call('shared')
    const { told, messages } = join()
    expect(told).toHaveLength(1 + 1_000 + 1)
    expect(told.at(-1)).toBe('ready 1')
    expect(messages.at(-2)).toContain(new Date(2_999).toISOString())
  })

  const large = JSON.stringify({ x: 'x'.repeat(8_000) })
  test.each([
    // JSON spells each of these characters with six bytes: 1 MB of calls becomes more than 2 MB
    ['calls', { event: '\u0001'.repeat(5_400), context: large, integrations: large }, []],
    [
      'attempts',
      {},
      Array.from({ length: 1_000 }, () => tried('m0', 200, { response: '\u0001'.repeat(1_024) })),
    ],
  ])(
    'do not displace `ready`, even if the first %s fill the buffer of the watcher',
    (_, fields, attempts) => {
      const { call, joinAs } = show({
        attemptsOf: (id) => (id === 'm0' ? attempts : []),
        decodeEvent: (value, onValue) => onValue({ ...JSON.parse(String(value)), ...fields }),
      })
      for (let at = 0; at < 50; at++) call(`m${at}`)
      let skipped = 0
      const watcher = openWatcher({ onSkipped: () => void skipped++, onClosed: () => undefined })
      joinAs('shop', watcher)
      const text = String(watcher.stream.read())
      watcher.stream.destroy()
      expect(skipped).toBeGreaterThan(0)
      expect(text).toMatch(/event: ready\ndata: {"calls":50}\n\n/)
    },
  )

  test('are sent as they arrive, for calls that were shown', () => {
    const { call, begin, join, attempt } = show()
    call('old')
    begin()
    const { told } = join()
    call('new')
    attempt(tried('new', 503))
    attempt(tried('new', 200))
    attempt(tried('old', 200))
    attempt(tried('unknown', 200))
    attempt(tried('new', 200, { sourceId: 'blog' }))
    const after = ['call new', 'attempt new 503', 'attempt new 200', 'attempt old 200']
    expect(told).toEqual(['call old', 'ready 1', ...after])
  })

  test('are sent for recent calls too, even if they arrived before the call', () => {
    const elsewhere = tried('old', 503, { sourceId: 'blog' })
    const attempts = [tried('fast', 200), tried('old', 200), tried('other', 200), elsewhere]
    const attemptsOf = (messageId: string) => attempts.filter((attempt) => attempt.messageId === messageId)
    const { call, begin, join } = show({ attemptsOf })
    call('old')
    begin()
    const { told } = join()
    call('fast')
    expect(told).toEqual(['call old', 'attempt old 200', 'ready 1', 'call fast', 'attempt fast 200'])
  })

  /** The schemas of all calls arrive with `decodeAll`. Each call has one attempt. */
  function showLate() {
    const waiting: (() => void)[] = []
    const shown = show({
      attemptsOf: (messageId) => [tried(messageId, 200)],
      decodeEvent: (value, onValue) => void waiting.push(() => onValue(JSON.parse(String(value)))),
    })
    const decodeAll = () => {
      for (const decode of waiting) decode()
    }
    return { ...shown, decodeAll }
  }

  test('are sent for recent calls even if their schema arrives later', () => {
    const { call, begin, join, decodeAll } = showLate()
    call('old')
    begin()
    const { told } = join()
    decodeAll()
    expect(told).toEqual(['ready 1', 'call old', 'attempt old 200'])
  })

  test('are sent once for recent calls of the same id whose schema arrives later', () => {
    const { call, begin, join, decodeAll } = showLate()
    call('old')
    call('old')
    begin()
    const { told } = join()
    decodeAll()
    expect(told).toEqual(['ready 2', 'call old', 'attempt old 200', 'call old'])
  })

  test('are sent once when a call comes twice', () => {
    const { call, begin, join } = show({ attemptsOf: () => [tried('m1', 200)] })
    begin()
    const { told } = join()
    call('m1')
    call('m1')
    expect(told).toEqual(['ready 0', 'call m1', 'attempt m1 200', 'call m1'])
  })

  test('are remembered for the last thousand calls only', () => {
    const { call, begin, join, attempt, clock } = show()
    begin()
    const { told } = join()
    for (let index = 0; index <= 1_000; index++) {
      clock.now += 10
      call(`m${index}`)
    }
    attempt(tried('m0', 200))
    attempt(tried('m1', 200))
    expect(told.slice(-2)).toEqual(['call m1000', 'attempt m1 200'])
  })
})

describe('more than a hundred calls a second', () => {
  test('are sampled, and the number left out is reported', () => {
    const { call, begin, join, clock, skipped, reportSkipped } = show()
    begin()
    const { told } = join()
    for (let index = 0; index < 1_000; index++) {
      clock.now += 1
      call(`m${index}`)
    }
    const shown = told.filter((each) => each.startsWith('call')).length
    expect(shown).toBeGreaterThanOrEqual(190)
    expect(shown).toBeLessThanOrEqual(200)
    reportSkipped()
    expect(told.at(-1)).toBe(`skipped ${1_000 - shown}`)
    reportSkipped()
    expect(told.filter((each) => each.startsWith('skipped'))).toHaveLength(1)
    expect(skipped).toEqual([1_000 - shown])
  })

  test('do not hide rejected calls or those of another source', () => {
    const { call, rejected, begin, join } = show()
    begin()
    const [shop, blog] = [join(), join('blog')]
    for (let index = 0; index < 500; index++) call(`m${index}`)
    rejected('too_deep')
    call('quiet', { sourceId: 'blog' })
    expect(shop.told.at(-1)).toBe('rejected too_deep')
    expect(blog.told).toEqual(['ready 0', 'call quiet'])
  })

  test('are not counted while nobody watches, and the last ones are sampled as well', () => {
    const { call, begin, join, skipped, reportSkipped } = show()
    begin()
    for (let index = 0; index < 500; index++) call(`m${index}`)
    reportSkipped()
    expect(skipped).toEqual([])
    expect(join().told.slice(-2)).toEqual(['call m99', 'ready 50'])
  })

  test('that are in the topics at the start are read to the end', () => {
    const { call, join } = show()
    for (let index = 0; index < 500; index++) call(`m${index}`)
    expect(join().told.slice(-2)).toEqual(['call m499', 'ready 50'])
  })
})

test('each call has an id that is the same when it is shown again', () => {
  const { call, begin, join } = show()
  call('m1')
  begin()
  const ids = [join(), join()].map(({ messages }) => /^id: (.*)$/m.exec(messages[0] ?? '')?.[1])
  expect(ids).toEqual(['events/1/1', 'events/1/1'])
})

describe('a call is shown', () => {
  test('with its non-null fields, times in ISO 8601, objects as objects', () => {
    const event = anEvent({
      event: 'Paid',
      properties: '{"total":1.5}',
      receivedAt: Date.parse('2026-01-02T03:04:05.678Z'),
      timestamp: Date.parse('2026-01-02T03:04:05.000Z'),
    })
    expect(callJson(event)).toEqual({
      messageId: 'm1',
      type: 'track',
      userId: 'u1',
      event: 'Paid',
      properties: { total: 1.5 },
      timestamp: '2026-01-02T03:04:05.000Z',
      receivedAt: '2026-01-02T03:04:05.678Z',
    })
  })

  test('without objects that are too long, which are named', () => {
    const event = anEvent({ properties: `{"text":"${'x'.repeat(8_192)}"}`, context: '{}' })
    expect(callJson(event)).toMatchObject({ omitted: ['properties'], context: {} })
    expect(callJson(event)).not.toHaveProperty('properties')
  })

  test('live as in answers, whatever its objects are', () => {
    const object = fc.oneof(
      fc.dictionary(fc.string({ unit: codePoint }), fc.jsonValue()).map((value) => JSON.stringify(value)),
      fc.constantFrom(
        '{"a":\n1}',
        '{\r"a": "\u2028"}',
        '{"a":1}\r',
        'name=x',
        '"',
        '{}}',
        '',
        `"${'x'.repeat(8_192)}"`,
      ),
    )
    const objects = fc.record({ properties: object, traits: object, context: object, integrations: object })
    const { call, join, begin } = show()
    begin()
    const { messages } = join(ALL)
    fc.assert(
      fc.property(objects, (fields) => {
        call('m1', fields)
        expect(messages.at(-1)?.split(/[\r\n]/)).toEqual([
          expect.stringMatching(/^id: /),
          'event: call',
          `data: ${JSON.stringify({ sourceId: 'shop', ...callJson(anEvent(fields)) })}`,
          '',
          '',
        ])
      }),
      // more calls in a second are skipped
      { numRuns: 50 },
    )
  })

  test('live with its objects as stored: some numbers take long to print', () => {
    const { call, join, begin } = show()
    begin()
    const { messages } = join()
    call('m1', { context: '{"a":[9.0e-265]}' })
    expect(messages.at(-1)).toContain('"context":{"a":[9.0e-265]},')
  })

  test('with text of other writers unchanged', () => {
    expect(callJson(anEvent({ traits: 'name=x' }))).toMatchObject({ traits: 'name=x' })
  })
})

describe('a rejected call is shown', () => {
  const raw = (text: string, writeKey = '') => rejectedJson(aRejected({ raw: text }), { writeKey })

  test('with the reason, and unchanged', () => {
    expect(rejectedJson(aRejected(), { writeKey: 'shop-write-key' })).toEqual({
      code: 'missing_user',
      message: 'A user is needed',
      receivedAt: '2026-01-02T03:04:05.678Z',
      raw: '{"type":"track"}',
      truncated: false,
    })
  })

  test('with its first 1,024 characters', () => {
    expect(raw('x'.repeat(1_024))).toMatchObject({ raw: 'x'.repeat(1_024), truncated: false })
    expect(raw('x'.repeat(1_025))).toMatchObject({ raw: 'x'.repeat(1_024), truncated: true })
    expect(raw('x'.repeat(900_000))).toMatchObject({ raw: 'x'.repeat(1_024), truncated: true })
  })

  test.each([
    ['{"writeKey":"shop-write-key","type":"track"}', '{"writeKey":"***","type":"track"}'],
    ['{"a":"shop-write-key"}', '{"a":"***"}'],
    ['{ "writeKey" : "former\\"key", "type"', '{ "writeKey" : "***", "type"'],
    ['{"batch":[],"writeKey":"cut-of', '{"batch":[],"writeKey":"***'],
    [`${' '.repeat(1_015)}"writeKey":"shop-write-key"`, `${' '.repeat(1_015)}"writeKey`],
    [`${' '.repeat(1_010)}"writeKey":"shop-write-key"`, `${' '.repeat(1_010)}"writeKey":"**`],
  ])('without a write key: %s', (text, expected) => {
    expect(raw(text, 'shop-write-key')).toMatchObject({ raw: expected })
    expect(raw(text.replace('"a"', '"writeKey"'))).toMatchObject({
      raw: expected.replace('"a"', '"writeKey"'),
    })
  })
})

test('a rejected call is shown without the write key that the source had before, which may still be valid', () => {
  const keys = { writeKey: 'shop-write-key', previousWriteKey: 'former-write-key' }
  expect(rejectedJson(aRejected({ raw: 'writeKey=former-write-key&userId=u1' }), keys)).toMatchObject({
    raw: 'writeKey=***&userId=u1',
  })
})

test('a watcher of all sources gets the source and attempts of each call, at most a hundred calls/s', () => {
  const { call, rejected, begin, attempt, clock, join, reportSkipped } = show()
  call('before', { sourceId: 'blog' })
  begin()
  const { told, messages } = join(ALL)
  const ofShop = join('shop')
  call('of-shop')
  call('of-blog', { sourceId: 'blog' })
  call('of-nobody', { sourceId: 'gone' })
  rejected('missing_user')
  attempt(anAttempt({ sourceId: 'blog', messageId: 'of-blog' }))
  attempt(anAttempt({ sourceId: 'blog', messageId: 'not-shown' }))
  expect(told).toEqual([
    'call before',
    'ready 1',
    'call of-shop',
    'call of-blog',
    'rejected missing_user',
    'attempt of-blog 200',
  ])
  const sources = messages.flatMap((message) => /"sourceId":"(\w+)"/.exec(message)?.[1] ?? [])
  expect(sources).toEqual(['blog', 'shop', 'blog', 'shop', 'blog'])
  expect(ofShop.messages.join('')).not.toContain('sourceId')
  clock.now += 10_000
  for (let index = 0; index < 80; index++) call(`shop-${index}`)
  for (let index = 0; index < 80; index++) call(`blog-${index}`, { sourceId: 'blog' })
  reportSkipped()
  expect(told.at(-1)).toBe('skipped 60')
})
