import { describe, expect, test } from 'vitest'
import { createTrace, mergeAttempts, nextAttemptTimes } from '../../../../control/activity/events/trace.ts'
import type { Attempt } from '../../../../schemas/attempt.ts'
import { anAttempt } from '../../attempts-in-memory.ts'

const SECOND = 1_000
const ladder = {
  ladder: [
    { name: '30s', delayMs: 30 * SECOND },
    { name: '10m', delayMs: 600 * SECOND },
    { name: '10m', delayMs: 600 * SECOND },
  ],
  windowMs: 24 * 3_600 * SECOND,
}
const at = (startedAt: number, fields: Partial<Attempt> = {}) =>
  anAttempt({ startedAt, durationMs: 10, ...fields })
const failed = (attempt: number, startedAt: number) =>
  at(startedAt, { attempt, outcome: 'retry', status: 503, code: 'http_5xx' })
const putOff = (attempt: number, startedAt: number) =>
  at(startedAt, { attempt, outcome: 'deferred', status: null, code: 'breaker_open', durationMs: 0 })

const held = (attempt: number, startedAt: number) => ({
  ...putOff(attempt, startedAt),
  urlIndex: null,
  code: 'destination_paused',
})

describe('the next attempt is expected', () => {
  test.each<[string, Attempt[], number[]]>([
    ['when its call comes in', [], [7]],
    ['at no time, when it was delivered', [failed(1, 10), at(50)], []],
    ['at no time, when it was cancelled', [at(10, { outcome: 'cancelled', urlIndex: null })], []],
    ['at no time, when it was given up', [1, 2, 3, 4].map((each) => failed(each, each)), []],
    ['by the ladder', [failed(1, 10)], [30_020]],
    ['at any rung, if it was deferred', [failed(1, 10), putOff(2, 50)], [30_050, 600_050]],
    ['at any rung, if it is held', [failed(1, 10), held(2, 50)], [30_050, 600_050]],
  ])('%s', (_, attempts, times) => {
    expect(nextAttemptTimes(attempts, 7, ladder)).toEqual(times)
  })
})

test('duplicates are merged, oldest first', () => {
  const [one, two] = [failed(1, 10), at(20, { attempt: 2 })]
  expect(mergeAttempts([two], [one, { ...two }])).toEqual([one, two])
})

test('only the latest hundred are kept, as calls of different users may share a deliveryId', () => {
  const many = Array.from({ length: 300 }, (_, place) => at(place))
  expect(mergeAttempts(many.slice(0, 150), many.slice(150))).toEqual(many.slice(200))
})

/** One partition. Records are written when their attempts end. */
function traced(log: readonly Attempt[], more: { maxMs?: number; responseTimeoutMs?: number } = {}) {
  const endOf = ({ startedAt, durationMs }: Attempt) => startedAt + durationMs
  const sorted = log.toSorted((a, b) => endOf(a) - endOf(b))
  const reads: number[] = []
  let closed = 0
  const trace = createTrace({
    openOffsets: async () => ({
      at: async (_, time) => {
        const found = sorted.findIndex((attempt) => endOf(attempt) >= time)
        return [{ partition: 0, offset: found < 0 ? sorted.length : found }]
      },
      close: async () => {
        closed += 1
      },
    }),
    reader: {
      partitions: 1,
      async read({ from, to }, onValue) {
        reads.push(to - from)
        for (const [index, attempt] of sorted.slice(from, to).entries())
          onValue(Buffer.from(JSON.stringify(attempt)), from + index, { key: null, timestamp: 0 })
      },
    },
    codec: { decode: (value) => ({ ok: true, value: JSON.parse(String(value)) }) },
    ladder,
    responseTimeoutMs: 5 * SECOND,
    // in the usual time, a busy machine finds fewer
    maxMs: Number.POSITIVE_INFINITY,
    ...more,
  })
  return { trace, reads, closed: () => closed }
}

const incomplete = { deliveryId: 'd1', destinationId: 'crm', receivedAt: 1_000 * SECOND }
const others = Array.from({ length: 2_000 }, (_, each) =>
  at(each * SECOND, { deliveryId: `other-${each}`, response: 'd1' }),
)

describe('attempts that are no longer in memory', () => {
  test('are found where each was due, with few other records read', async () => {
    const [first, second] = [failed(1, 1_003 * SECOND), putOff(2, 1_033 * SECOND)]
    const third = at(1_633 * SECOND, { attempt: 2 })
    const { trace, reads, closed } = traced([...others, first, second, third])
    const found = await trace([incomplete], Number.POSITIVE_INFINITY)
    expect(found).toEqual(new Map([['d1', [first, second, third]]]))
    expect(reads.reduce((sum, count) => sum + count, 0)).toBeLessThan(100)
    expect(closed()).toBe(1)
  })

  test('are found after any number of holds, and only the last hold is kept', async () => {
    const holds = Array.from({ length: 150 }, (_, each) => held(2, (1_033 + each * 600) * SECOND))
    const [first, last] = [failed(1, 1_003 * SECOND), at((1_033 + 150 * 600) * SECOND, { attempt: 2 })]
    const { trace } = traced([...others, first, ...holds, last])
    const found = await trace([incomplete], Number.POSITIVE_INFINITY)
    expect(found.get('d1')).toEqual([first, holds.at(-1), last])
  })

  test('are found although a receiver may take a minute: they are written at their end', async () => {
    const slow = { ...failed(1, 1_003 * SECOND), durationMs: 60 * SECOND, status: null, code: 'timeout' }
    const second = at(1_093 * SECOND, { attempt: 2 })
    const { trace } = traced([...others, slow, second], { responseTimeoutMs: 60 * SECOND })
    const found = await trace([incomplete], Number.POSITIVE_INFINITY)
    expect(found.get('d1')).toEqual([slow, second])
  })

  test('are not searched for if all are in memory', async () => {
    const { trace, reads } = traced([...others, failed(1, 1_003 * SECOND), at(1_033 * SECOND)])
    const found = await trace([incomplete], 1_020 * SECOND)
    expect(found.get('d1')).toHaveLength(1)
    expect(reads).toHaveLength(1)
  })

  test('are searched for only within the time limit', async () => {
    const { trace, reads } = traced(others, { maxMs: -1 })
    expect(await trace([incomplete], Number.POSITIVE_INFINITY)).toEqual(new Map([['d1', []]]))
    expect(reads).toEqual([])
  })

  test('of neighbours are found with one read', async () => {
    const of = Array.from({ length: 50 }, (_, each) => ({
      ...incomplete,
      deliveryId: `n${each}`,
      receivedAt: incomplete.receivedAt + each * 10,
    }))
    const log = of.map(({ deliveryId, receivedAt }) => at(receivedAt + 5, { deliveryId }))
    const { trace, reads } = traced([...others, ...log])
    const found = await trace(of, Number.POSITIVE_INFINITY)
    expect([...found.values()].map(({ length }) => length)).toEqual(Array(50).fill(1))
    expect(reads).toHaveLength(1)
  })

  test('far apart are found without the many records between them', async () => {
    const busy = Array.from({ length: 30_000 }, (_, each) =>
      at(1_100 * SECOND + each * 10, { deliveryId: `other-${each}` }),
    )
    const late = { ...incomplete, deliveryId: 'd2', receivedAt: 2_000 * SECOND }
    const log = [at(1_001 * SECOND), at(2_001 * SECOND, { deliveryId: 'd2' })]
    const { trace, reads } = traced([...busy, ...log])
    const found = await trace([late, incomplete], Number.POSITIVE_INFINITY)
    expect([...found.values()].map(({ length }) => length)).toEqual([1, 1])
    expect(reads.reduce((sum, count) => sum + count, 0)).toBeLessThan(100)
  })

  test('without any, Kafka is not asked', async () => {
    const { trace, closed } = traced([])
    expect(await trace([], 0)).toEqual(new Map())
    expect(closed()).toBe(0)
  })
})
