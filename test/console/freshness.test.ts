import { expect, test } from 'vitest'
import { Refused, unreachable } from '../../console/src/api/errors.ts'
import type { DestinationNow } from '../../console/src/api/health.ts'
import { type Heard, heard, NOTHING, whyOld } from '../../console/src/api/stream/freshness.ts'
import { healthOf } from '../../console/src/views/overview/destination-state.ts'

type Told = { health: number; ingest: number }
const message = (name: string, data: unknown, at = '2026-01-02T03:04:05.000Z') => ({ name, data, at })

test('what cannot be told any more stays as it was told last, and is named', () => {
  const before: Heard<Told> = heard(NOTHING, message('health', 1))
  const after = heard(before, message('unavailable', { event: 'health' }, '2026-01-02T03:05:00.000Z'))
  expect(after).toEqual({ told: { health: 1 }, away: ['health'], toldAt: '2026-01-02T03:04:05.000Z' })
  expect(heard(after, message('unavailable', { event: 'health' })).away).toEqual(['health'])
  expect(heard(after, message('ingest', 2)).away).toEqual(['health'])
  expect(heard(after, message('health', 3))).toMatchObject({ told: { health: 3 }, away: [] })
})

const fresh = { state: { is: 'open' }, isAway: false, toldAt: undefined } as const
const lost = (error: Refused, times: number) => ({ ...fresh, state: { is: 'lost', error, times } as const })

test('a short break alarms nobody, a longer one and a refusal do, and so does Kafka that is away', () => {
  expect(whyOld(fresh)).toBeUndefined()
  expect(whyOld(lost(unreachable(), 1))).toBeUndefined()
  expect(whyOld(lost(unreachable(), 2))?.says).toContain('Sluice does not answer')
  const full = new Refused({ code: 'too_many_watchers', message: 'As many as may', errors: [] }, 429)
  expect(whyOld(lost(full, 1))?.says).toContain('As many as may')
  expect(whyOld({ ...fresh, isAway: true })?.title).toContain('Kafka')
})

test('a destination of which nothing has been heard is not called quiet', () => {
  expect(healthOf({ enabled: true, sourceIds: ['shop'] }, undefined).label).toBe('Not known')
})

const calm: DestinationNow = {
  ...{ destinationId: 'crm', delivered: 1, rejected: 0, retry: 0, refused: 0, deferred: 0, dead: 0 },
  ...{ p50: 1, p99: 1, breaker: 'closed', state: 'healthy', rejectedStatus: null },
}
const wordOf = (now: Partial<DestinationNow>) =>
  healthOf({ enabled: true, sourceIds: ['shop'] }, { ...calm, ...now }).label

test('a destination rejects for as long as a webhook of it does, and not for a minute after its URL was corrected', () => {
  expect(wordOf({ rejected: 9, state: 'rejecting', rejectedStatus: 404 })).toBe('Rejecting: 404')
  expect(wordOf({ rejected: 9, dead: 9 })).toBe('Given up')
  expect(wordOf({ rejected: 9 })).toBe('Failing at times')
  expect(wordOf({})).toBe('Healthy')
})

test('a destination with an open breaker is failing: it may answer, with 503', () => {
  expect(wordOf({ delivered: 0, retry: 3, breaker: 'open', state: 'failing' })).toBe('Failing')
})
