import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AttemptResult, type Ladder, type Next, next } from '../../delivery/ladder.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import { aDelivery } from '../helpers/events.ts'

const MINUTE = 60_000
const rungs = [5, 30, 120, 300, 900, 1_800, 3_600, 3_600, 3_600].map((seconds) => ({
  name: `${seconds}s`,
  delayMs: seconds * 1_000,
}))
const ladder = { ladder: rungs, windowMs: 240 * MINUTE }
const now = 1_700_000_000_000

const delivered: Outcome = { outcome: 'delivered', status: 200 }
const failed: Outcome = { outcome: 'retry', code: 'http_5xx', status: 503 }
const refused: Outcome = { outcome: 'refused', code: 'tls_self_signed' }
const rejected: Outcome = { outcome: 'rejected', code: 'http_404', status: 404 }
const posted = (outcome: Outcome, urlIndex = 0): AttemptResult => ({
  urlIndex,
  url: `http://r${urlIndex}.example/`,
  startedAt: now - 100,
  durationMs: 100,
  outcome,
  response: null,
})

describe('after an attempt', () => {
  test('one delivered webhook settles the delivery', () => {
    expect(
      next(aDelivery(), { results: [posted(failed), posted(delivered, 1), posted(refused, 2)], now }, ladder),
    ).toEqual({ kind: 'done' })
  })

  test('a first failure goes to the first rung, and the window begins with that attempt', () => {
    const result = next(aDelivery(), { results: [posted(failed)], now }, ladder)
    expect(result).toMatchObject({
      kind: 'retry',
      rung: rungs[0],
      dueAt: now + 5_000,
      delivery: { attempt: 1, firstAttemptAt: now - 100 },
    })
  })

  test('webhooks that refused for good are remembered, the others are retried', () => {
    const result = next(aDelivery(), { results: [posted(failed), posted(refused, 1)], now }, ladder)
    expect(result).toMatchObject({ kind: 'retry', delivery: { refusedUrls: ['http://r1.example/'] } })
  })

  test('a webhook that rejected the event is not retried, and one that failed is', () => {
    const result = next(aDelivery(), { results: [posted(rejected), posted(failed, 1)], now }, ladder)
    expect(result).toMatchObject({ kind: 'retry', delivery: { refusedUrls: ['http://r0.example/'] } })
  })

  test('a delivery rejected by one webhook is not dead while another one was deferred', () => {
    const deferred: Outcome = { outcome: 'deferred', code: 'breaker_open' }
    expect(
      next(aDelivery(), { results: [posted(rejected), posted(deferred, 1)], now }, ladder),
    ).toMatchObject({
      kind: 'retry',
    })
  })

  test('a delivery rejected by one webhook and delivered to another is done', () => {
    expect(next(aDelivery(), { results: [posted(rejected), posted(delivered, 1)], now }, ladder)).toEqual({
      kind: 'done',
    })
  })

  test.each<[string, Outcome[], Outcome[]]>([
    ['all rejected at once', [], [rejected, rejected]],
    ['one rejected, the other refused', [], [rejected, refused]],
    ['one rejected earlier, the other refused now', [rejected], [refused]],
    ['one refused earlier, the other rejected now', [refused], [rejected]],
    ['one rejected earlier, and the other URL was removed', [rejected], []],
  ])('%s: dead as rejected, with body and history', (_, before, round) => {
    const earlier = before.map((outcome, index) => posted(outcome, index))
    const first =
      before.length > 0
        ? next(aDelivery(), { results: [...earlier, posted(failed, 1)], now }, ladder)
        : undefined
    const delivery = first?.kind === 'retry' ? first.delivery : aDelivery()
    const results = round.map((outcome, index) => posted(outcome, before.length + index))
    const result = next(delivery, { results, now }, ladder)
    expect(result).toMatchObject({ kind: 'dead', reason: 'rejected', delivery: { body: delivery.body } })
    expect(result.kind === 'dead' && result.delivery.history.map(({ code }) => code)).toContain('http_404')
  })

  test('a delivery that all refuse is dead at once', () => {
    const result = next(aDelivery(), { results: [posted(refused), posted(refused, 1)], now }, ladder)
    expect(result).toMatchObject({
      kind: 'dead',
      reason: 'refused',
      delivery: { deadReason: 'refused', deadAt: now, attempt: 1 },
    })
  })

  test('a failure after the last rung is dead, with every POST in its history', () => {
    const old = aDelivery({ attempt: 9, firstAttemptAt: now - MINUTE })
    const result = next(old, { results: [posted(failed)], now }, ladder)
    expect(result).toMatchObject({ kind: 'dead', reason: 'attempts_exhausted' })
    expect(result.kind === 'dead' && result.delivery.history).toEqual([
      {
        attempt: 10,
        urlIndex: 0,
        startedAt: now - 100,
        durationMs: 100,
        outcome: 'retry',
        status: 503,
        code: 'http_5xx',
      },
    ])
  })

  test('an attempt that would start after the window is not scheduled', () => {
    const late = (firstAttemptAt: number) =>
      next(aDelivery({ attempt: 3, firstAttemptAt }), { results: [posted(failed)], now }, ladder)
    expect(late(now + 300_000 - 240 * MINUTE).kind).toBe('retry')
    expect(late(now + 300_000 - 240 * MINUTE - 1)).toMatchObject({ kind: 'dead', reason: 'window_expired' })
  })

  test('the window does not begin before the delivery was routed, even if a slow clock wrote so', () => {
    const tried = { attempt: 1, firstAttemptAt: now - 5_760 * MINUTE }
    const of = (routedAt: number) =>
      next(aDelivery({ ...tried, routedAt }), { results: [posted(failed)], now }, ladder)
    expect(of(now - MINUTE)).toMatchObject({ kind: 'retry', rung: rungs[1] })
    expect(of(now - 240 * MINUTE)).toMatchObject({ kind: 'dead', reason: 'window_expired' })
    // by a router's clock that is ahead
    expect(of(now + MINUTE)).toMatchObject({ kind: 'retry', rung: rungs[1] })
  })

  test("a router's clock that is ahead does not lengthen the window", () => {
    const ahead = aDelivery({ firstAttemptAt: now - MINUTE, routedAt: now + MINUTE })
    const of = (windowMs: number) =>
      next(ahead, { results: [posted(failed)], now }, { ladder: rungs, windowMs }).kind
    expect([of(5_000), of(4_999)]).toEqual(['retry', 'dead'])
  })

  test('an attempt ends a row of deferrals: the next one begins with the first rung again', () => {
    const result = next(aDelivery({ deferrals: 6 }), { results: [posted(failed)], now }, ladder)
    expect(result).toMatchObject({ kind: 'retry', delivery: { deferrals: 0 } })
  })
})

test('on the default ladder a delivery that always fails is attempted ten times within 3 h 52 m 35 s', () => {
  let delivery = aDelivery()
  let at = now
  for (let attempts = 1; ; attempts++) {
    const result = next(delivery, { results: [{ ...posted(failed), startedAt: at }], now: at }, ladder)
    if (result.kind !== 'retry') {
      expect(result).toMatchObject({ kind: 'dead', reason: 'attempts_exhausted' })
      expect([attempts, at - now]).toEqual([10, ((3 * 60 + 52) * 60 + 35) * 1_000])
      return
    }
    delivery = result.delivery
    at = result.dueAt
  }
})

describe('Retry-After', () => {
  const asking = (retryAfterMs: number): Outcome => ({ ...failed, retryAfterMs })
  const rungAfter = (attempt: number, ...outcomes: Outcome[]) => {
    const delivery = aDelivery({ attempt: attempt - 1, firstAttemptAt: now - 100 })
    const results = outcomes.map((outcome, index) => posted(outcome, index))
    const result = next(delivery, { results, now }, ladder)
    return result.kind === 'retry' ? result.rung.name : result
  }

  const afterMinutes = (minutes: number, outcome: Outcome) =>
    next(
      aDelivery({ attempt: 1, firstAttemptAt: now - minutes * MINUTE }),
      { results: [posted(outcome)], now },
      ladder,
    )

  test('moves the attempt up to the first rung that is as long', () => {
    expect(rungAfter(1, asking(0))).toBe('5s')
    expect(rungAfter(1, asking(5_000))).toBe('5s')
    expect(rungAfter(1, asking(5_001))).toBe('30s')
    expect(rungAfter(1, asking(10 * MINUTE))).toBe('900s')
  })

  test('never makes an attempt earlier than the ladder does', () => {
    expect(rungAfter(5, asking(1_000))).toBe('900s')
  })

  test('the longest of several webhooks counts', () => {
    expect(rungAfter(1, asking(1_000), asking(100_000), failed, refused)).toBe('120s')
  })

  test('longer than every rung uses the last one', () => {
    expect(rungAfter(1, asking(24 * 60 * MINUTE))).toBe('3600s')
  })

  test('skips no attempt: the next one is on its regular rung again', () => {
    const result = next(aDelivery(), { results: [posted(asking(10 * MINUTE))], now }, ladder)
    if (result.kind !== 'retry') throw new Error(result.kind)
    expect(result.delivery.attempt).toBe(1)
    expect(next(result.delivery, { results: [posted(failed)], now }, ladder)).toMatchObject({
      rung: { name: '30s' },
    })
  })

  test('extends neither the window nor the number of attempts', () => {
    expect(afterMinutes(239.6, asking(5 * MINUTE))).toMatchObject({ reason: 'window_expired' })
    expect(rungAfter(10, asking(1_000))).toMatchObject({ reason: 'attempts_exhausted' })
  })

  test('beyond the window uses the longest rung that fits', () => {
    expect(afterMinutes(239, asking(5 * MINUTE))).toMatchObject({ rung: { name: '30s' } })
    expect(afterMinutes(230, asking(20 * MINUTE))).toMatchObject({ rung: { name: '300s' } })
    expect(afterMinutes(230, asking(24 * 60 * MINUTE))).toMatchObject({ rung: { name: '300s' } })
  })
})

function climb(steps: readonly Outcome[][], by: Ladder): { at: number; round: Outcome[]; result: Next }[] {
  const run: { at: number; round: Outcome[]; result: Next }[] = []
  let delivery = aDelivery()
  let at = now
  for (const round of steps) {
    const results = round.map((outcome, index) => ({ ...posted(outcome, index), startedAt: at }))
    const result = next(delivery, { results, now: at }, by)
    run.push({ at, round, result })
    if (result.kind !== 'retry') return run
    delivery = result.delivery
    at = result.dueAt
  }
  return run
}

describe('on any ladder and for any answers', () => {
  const delay = fc.integer({ min: 1, max: 10 * MINUTE })
  const anyLadder = fc.record({
    ladder: fc
      .array(delay, { minLength: 1, maxLength: 12 })
      .map((delays) =>
        delays.toSorted((a, b) => a - b).map((delayMs) => ({ name: `${delayMs}ms`, delayMs })),
      ),
    windowMs: fc.integer({ min: 1, max: 60 * MINUTE }),
  })
  const retry = fc.oneof(
    fc.constant(failed),
    fc.integer({ min: 0, max: 20 * MINUTE }).map((retryAfterMs): Outcome => ({ ...failed, retryAfterMs })),
  )
  const outcome = fc.oneof({ weight: 8, arbitrary: retry }, fc.constantFrom(delivered, refused))
  const runs = fc
    .tuple(
      fc.array(fc.array(outcome, { minLength: 1, maxLength: 5 }), { minLength: 13, maxLength: 13 }),
      anyLadder,
    )
    .map(([rounds, by]) => ({ by, run: climb(rounds, by) }))
  const asked = (round: readonly Outcome[]) =>
    Math.max(0, ...round.map((each) => ('retryAfterMs' in each ? (each.retryAfterMs ?? 0) : 0)))

  test('a delivery is settled after at most one attempt more than there are rungs', () => {
    fc.assert(
      fc.property(runs, ({ by, run }) => {
        expect(run.length).toBeLessThanOrEqual(by.ladder.length + 1)
        run.forEach(({ round, result }, index) => {
          const isLast = index === run.length - 1
          expect(result.kind === 'retry').toBe(!isLast)
          if (result.kind === 'done') expect(round).toContainEqual(delivered)
          else {
            expect(result.delivery.attempt).toBe(index + 1)
            expect(result.delivery.history.filter((past) => past.attempt === index + 1)).toHaveLength(
              round.length,
            )
          }
        })
      }),
    )
  })

  test('no attempt is scheduled beyond the window, and none within it is dropped', () => {
    fc.assert(
      fc.property(runs, ({ by, run }) => {
        for (const { result } of run)
          if (result.kind === 'retry') expect(result.dueAt).toBeLessThanOrEqual(now + by.windowMs)
        const last = run.at(-1)
        if (last?.result.kind !== 'dead') return
        const { reason } = last.result
        const isLongest = run.length > by.ladder.length
        if (reason === 'refused') expect(last.round).toEqual(last.round.map(() => refused))
        else expect(reason).toBe(isLongest ? 'attempts_exhausted' : 'window_expired')
        const due = by.ladder[run.length - 1]?.delayMs ?? Number.NaN
        if (reason === 'window_expired') expect(last.at + due).toBeGreaterThan(now + by.windowMs)
      }),
    )
  })

  test('no attempt comes before its Retry-After if a fitting rung is as long, nor before its rung', () => {
    fc.assert(
      fc.property(runs, ({ by, run }) => {
        run.forEach(({ at, round, result }, index) => {
          if (result.kind !== 'retry') return
          const fitting = by.ladder.filter(({ delayMs }) => at + delayMs <= now + by.windowMs)
          const longest = Math.max(...fitting.map(({ delayMs }) => delayMs))
          const waited = result.dueAt - at
          expect(waited).toBe(result.rung.delayMs)
          expect(waited).toBeGreaterThanOrEqual(Math.min(asked(round), longest))
          expect(waited).toBeGreaterThanOrEqual(by.ladder[index]?.delayMs ?? Number.NaN)
        })
      }),
    )
  })
})
