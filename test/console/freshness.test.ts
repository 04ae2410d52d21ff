import { expect, test } from 'vitest'
import { ApiError, unreachable } from '../../console/src/api/client/errors.ts'
import { type Latest, NO_VALUES, receive, whyStale } from '../../console/src/api/stream/freshness.ts'

type Values = { health: number; ingest: number }
const event = (name: string, data: unknown, at = '2026-01-02T03:04:05.000Z') => ({ name, data, at })

test('an unavailable event keeps its last value and is marked', () => {
  const before: Latest<Values> = receive(NO_VALUES, event('health', 1))
  const after = receive(before, event('unavailable', { event: 'health' }, '2026-01-02T03:05:00.000Z'))
  expect(after).toEqual({
    values: { health: 1 },
    unavailable: ['health'],
    updatedAt: '2026-01-02T03:04:05.000Z',
  })
  expect(receive(after, event('unavailable', { event: 'health' })).unavailable).toEqual(['health'])
  expect(receive(after, event('ingest', 2)).unavailable).toEqual(['health'])
  expect(receive(after, event('health', 3))).toMatchObject({ values: { health: 3 }, unavailable: [] })
})

const fresh = { state: { is: 'open' }, isUnavailable: false, updatedAt: undefined } as const
const lost = (error: ApiError, failures: number) => ({
  ...fresh,
  state: { is: 'lost', error, failures } as const,
})

test('data is stale after a long break, an error answer or a Kafka outage, but not after a short break', () => {
  expect(whyStale(fresh)).toBeUndefined()
  expect(whyStale(lost(unreachable(), 1))).toBeUndefined()
  expect(whyStale(lost(unreachable(), 2))?.explanation).toContain('Sluice is not responding')
  const full = new ApiError({ code: 'too_many_watchers', message: 'As many as may', errors: [] }, 429)
  expect(whyStale(lost(full, 1))?.explanation).toContain('As many as may')
  expect(whyStale({ ...fresh, isUnavailable: true })?.explanation).toContain('Kafka')
})

test('data of a stream that has ended for good is stale, and the reason is shown', () => {
  const error = new ApiError({ code: 'source_deleted', message: 'Source shop was deleted', errors: [] }, 410)
  expect(whyStale({ ...fresh, state: { is: 'ended', error } })).toEqual({
    title: 'Live updates have ended',
    explanation: 'Source shop was deleted.',
  })
})
