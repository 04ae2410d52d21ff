import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { firstSeen } from '../../cli/api/missed-calls.ts'
import { sseParser } from '../../cli/api/sse.ts'
import { callOf } from '../../cli/commands/calls/send.ts'
import { latestPastAttempts } from '../../cli/commands/calls/tail.ts'
import { duration, timeOf } from '../../cli/commands/command.ts'
import { CliError, outputTo } from '../../cli/context.ts'
import { eventLine } from '../../cli/event-line.ts'
import { plain, table } from '../../cli/table.ts'

const now = Date.parse('2026-01-02T03:04:05.000Z')

describe('past attempts', () => {
  const event = (event: string, data: object) => ({ event, id: undefined, data: JSON.stringify(data) })
  const attempt = (deliveryId: string, number: number, urlIndex = 0) =>
    event('attempt', { deliveryId, urlIndex, attempt: number })
  const call = event('call', { messageId: 'm1' })
  const ready = event('ready', { calls: 1 })

  test('are shown before ready, but only the latest for each webhook of a delivery', () => {
    const shown = latestPastAttempts()
    const past = [call, attempt('d1', 1), attempt('d1', 1, 1), attempt('d2', 1), attempt('d1', 2), ready]
    expect(past.flatMap(shown)).toEqual([
      call,
      attempt('d1', 1, 1),
      attempt('d2', 1),
      attempt('d1', 2),
      ready,
    ])
  })

  test('are not held back if their form is unknown', () => {
    const unknown = event('attempt', {})
    expect(latestPastAttempts()(unknown)).toEqual([unknown])
  })

  test('end with ready: all later attempts are shown', () => {
    const shown = latestPastAttempts()
    const events = [ready, attempt('d1', 1), attempt('d1', 2)]
    expect(events.flatMap(shown)).toEqual(events)
  })
})

describe('a time', () => {
  test.each([
    ['90s', '2026-01-02T03:02:35.000Z'],
    ['15m', '2026-01-02T02:49:05.000Z'],
    ['1.5h', '2026-01-02T01:34:05.000Z'],
    ['7d', '2025-12-26T03:04:05.000Z'],
    ['2026-01-01T00:00:00+01:00', '2025-12-31T23:00:00.000Z'],
  ])('%s is %s', (text, wanted) => {
    expect(timeOf(text, now)).toBe(wanted)
  })

  test.each(['yesterday', '2026-01-01', '2026-01-01T00:00:00', '5', '-1h', '1w', '2026-13-01T00:00:00Z'])(
    'is not %s',
    (text) => {
      expect(() => timeOf(text, now)).toThrow(/is not a time/)
    },
  )

  test.each(['2026-02-31T00:00:00Z', '2025-02-29T00:00:00Z', '9999999999d', `${'9'.repeat(200)}d`])(
    'is not %s, which no calendar has',
    (text) => {
      expect(() => timeOf(text, now)).toThrow(/is not a time/)
    },
  )

  test('an overlap ends before the end of all dates', () => {
    expect(duration('7d')).toBe(604_800_000)
    expect(duration('0')).toBe(0)
    for (const text of ['9999999999d', `${'0'.repeat(100)}1d`, `1.${'0'.repeat(100)}d`])
      expect(() => duration(text)).toThrow(/a length of time/)
  })
})

describe('a table', () => {
  test('aligns its columns, and shows a dash for nothing', () => {
    expect(
      table(
        ['a', 'long'],
        [
          ['xyz', 1],
          [null, undefined],
        ],
      ),
    ).toEqual(['a    long', 'xyz  1', '-    -'])
  })

  test('is not widened by a very long name', () => {
    const long = '\u0080'.repeat(16_000)
    const lines = table(
      ['name', 'state'],
      [
        ['a', 'dead'],
        [long, 'dead'],
        ['b'.repeat(128), 'dead'],
      ],
    )
    expect(lines.map(({ length }) => length)).toEqual([135, 134, 6 * 16_000 + 6, 134])
  })

  test('without rows has no lines', () => {
    expect(table(['a'], [])).toEqual([])
  })

  test('has one line per row and no control characters, whatever the values', () => {
    expect(plain('a\nb\u001b[31m\u202e')).toBe('a\\nb\\u001b[31m\\u202e')
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
        expect(table(['head'], [[text]]).join('|')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
      }),
    )
  })
})

test('what JSON does not escape reaches no terminal, but a pipe', () => {
  const name = 'a\u009b31m\u007f\u2028\u202e'
  const printed = (isTTY: boolean) => {
    const stream = Object.assign(new PassThrough(), { isTTY })
    outputTo(stream as unknown as NodeJS.WriteStream).line(JSON.stringify({ name }))
    return String(stream.read())
  }
  expect(printed(true)).toBe('{"name":"a\\u009b31m\\u007f\\u2028\\u202e"}\n')
  expect(JSON.parse(printed(true))).toEqual({ name })
  expect(printed(false)).toBe(`{"name":"${name}"}\n`)
})

test('a full disk is a fault that the user can fix, and a reader that has gone is none', () => {
  const stream = new PassThrough()
  const { closed } = outputTo(stream as unknown as NodeJS.WriteStream)
  const failed = (code: string) => stream.emit('error', Object.assign(new Error(code), { code }))
  expect(() => failed('ENOSPC')).toThrow(CliError)
  expect(() => failed('EPIPE')).not.toThrow()
  expect(closed.aborted).toBe(true)
})

describe('a stream of events', () => {
  const stream =
    'retry: 2000\n\nid: t/0/1\nevent: call\ndata: {"a":1}\n\n: still here\n\nevent: ready\ndata: {"calls":1}\n\n'
  const told = [
    { event: 'call', id: 't/0/1', data: '{"a":1}' },
    { event: 'ready', id: undefined, data: '{"calls":1}' },
  ]

  test('keeps Unicode line separators in data', () => {
    const data = JSON.stringify({ a: 'one\u2028two\u2029three\u0085four' })
    expect(sseParser()(`event: call\ndata: ${data}\n\n`)).toEqual([{ event: 'call', id: undefined, data }])
  })

  test('is parsed the same in pieces of any size', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), stream.length]
        const parse = sseParser()
        const pieces = places.slice(1).map((end, index) => stream.slice(places[index], end))
        expect(pieces.flatMap(parse)).toEqual(told)
      }),
    )
  })

  test('drops an incomplete event at the end', () => {
    expect(sseParser()('data: {"a"')).toEqual([])
  })
})

test('a key is recognized even after ten thousand others', () => {
  const isNew = firstSeen<string>((text) => text)
  expect([isNew('a'), isNew('a')]).toEqual([true, false])
  for (let index = 0; index < 10_000; index++) isNew(`other ${index}`)
  expect(isNew('a')).toBe(false)
  for (let index = 10_000; index < 40_000; index++) isNew(`other ${index}`)
  expect(isNew('a')).toBe(true)
})

describe('an event of a stream', () => {
  const line = (event: string, data: object) =>
    eventLine({ event, id: undefined, data: JSON.stringify(data) })

  test('is printed on one line', () => {
    expect(
      line('call', { type: 'track', messageId: 'm1', timestamp: 'T', userId: 'u1', event: 'Paid', extra: 1 }),
    ).toBe('T  call  track  u1  Paid  m1')
    expect(
      line('rejected', { code: 'unknown_type', message: 'no such type', receivedAt: 'T', raw: '{\n}' }),
    ).toBe('T  rejected  unknown_type  no such type  {\\n}')
    expect(
      line('attempt', {
        messageId: 'm1',
        destinationId: 'crm',
        attempt: 2,
        startedAt: 'T',
        outcome: 'retry',
        status: 503,
        code: 'http_5xx',
        durationMs: 7,
      }),
    ).toBe('T  attempt  crm  2  retry  http_5xx  7 ms  m1')
  })

  test('says how many messages were skipped, and why', () => {
    expect(line('skipped', { count: 12, reason: 'rate' })).toBe('skipped  12  more than 100 a second')
    expect(line('skipped', { count: 3, reason: 'slow' })).toBe('skipped  3  this reader is too slow')
  })

  test('names the source if all sources are watched', () => {
    expect(
      line('call', { sourceId: 'shop', type: 'page', messageId: 'm1', timestamp: 'T', userId: 'u1' }),
    ).toBe('T  call  shop  page  u1  -  m1')
    expect(line('rejected', { sourceId: 'shop', code: 'c', message: 'm', receivedAt: 'T', raw: 'r' })).toBe(
      'T  rejected  shop  c  m  r',
    )
  })

  test('of an unknown form is printed unparsed', () => {
    expect(line('toString', { calls: 3 })).toBe('toString  {"calls":3}')
    expect(line('call', { other: 1 })).toBe('call  {"other":1}')
    expect(eventLine({ event: 'call', id: undefined, data: 'no JSON' })).toBe('call  no JSON')
  })
})

describe('a call', () => {
  const by = { now, newId: () => 'made-1' }

  test('has the given fields and a new id', () => {
    const options = { user: 'u1', event: 'Paid', properties: '{"total": 5}', timestamp: '1h' }
    expect(callOf('track', options, by)).toEqual({
      type: 'track',
      body: {
        messageId: 'made-1',
        userId: 'u1',
        event: 'Paid',
        properties: { total: 5 },
        timestamp: '2026-01-02T02:04:05.000Z',
      },
    })
    expect(callOf('alias', { messageId: 'mine', previous: 'u0' }, by).body).toEqual({
      messageId: 'mine',
      previousId: 'u0',
    })
  })

  test.each(['{', '[]', '7', 'null'])('does not take %s for an object', (properties) => {
    expect(() => callOf('track', { properties }, by)).toThrow(/--properties takes a JSON object/)
  })

  test('must have a known type', () => {
    expect(() => callOf('delete', {}, by)).toThrow(/identify, track/)
  })
})
