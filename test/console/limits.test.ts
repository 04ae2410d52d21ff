import { expect, test } from 'vitest'
import { exactDuration } from '../../console/src/wording/format.ts'
import { limitsOf, limitTexts } from '../../console/src/wording/limits.ts'

const page = (content: string | null) => ({
  querySelector: (selector: string) =>
    selector === 'meta[name="sluice-limits"]' ? { getAttribute: () => content } : null,
})
const limits = {
  responseTimeoutMs: 7_000,
  retryWindowMs: 90_000,
  retryDelays: ['5s', '1m'],
  eventsKeptMs: null,
  deadKeptMs: null,
}

test('texts name the limits of this system', () => {
  const found = limitsOf(page(JSON.stringify(limits)))
  expect(limitTexts(found)).toMatchObject({
    timeout: '7 seconds',
    retryWindow: 'the retry window of 90 seconds',
    retryFor: ' for up to 90 seconds',
    delays: ' Its delays: 5s, 1m.',
    olderEvents: 'or that Kafka no longer keeps',
    deadKept: '',
  })
  expect(limitTexts({ ...limits, eventsKeptMs: 604_800_000 }).olderEvents).toBe(
    'or that are older than 7 days',
  )
  expect(limitTexts({ ...limits, deadKeptMs: 1_209_600_000 }).deadKept).toBe(' for 14 days')
})

test('without limits, as in development, texts name no figures', () => {
  for (const none of [limitsOf(undefined), limitsOf(page(null)), limitsOf(page('__SLUICE_LIMITS__'))])
    expect(Object.values(limitTexts(none)).join()).not.toMatch(/\d/)
})

test('a setting is shown without rounding, in the largest unit that fits', () => {
  expect([4 * 3_600_000, 5_000, 5_400_000, 86_400_000, 1_500, 60_000, 0].map(exactDuration)).toEqual([
    '4 hours',
    '5 seconds',
    '90 minutes',
    '1 day',
    '1,500 ms',
    '1 minute',
    '0 ms',
  ])
})
