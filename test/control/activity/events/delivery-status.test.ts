import { describe, expect, test } from 'vitest'
import { letterOf } from '../../../../control/activity/dead/dead-letter.ts'
import { deliveryStatus, type Known, keptFrom } from '../../../../control/activity/events/delivery-status.ts'
import type { Attempt } from '../../../../schemas/attempt.ts'
import type { Destination } from '../../../../settings/settings.ts'
import { aDestination, anEvent } from '../../../helpers/events.ts'
import { anAttempt } from '../../attempts-in-memory.ts'
import { aDeadOne } from '../../dead-in-memory.ts'

const WINDOW_MS = 3_600_000
const ladder = {
  ladder: [
    { name: '5s', delayMs: 5_000 },
    { name: '30s', delayMs: 30_000 },
  ],
  windowMs: WINDOW_MS,
}
const event = anEvent({ receivedAt: 1_000 })
const tried = (fields: Partial<Attempt>) => anAttempt({ startedAt: 2_000, durationMs: 10, ...fields })
const failed = (attempt: number, startedAt: number, more: Partial<Attempt> = {}) =>
  tried({ attempt, startedAt, outcome: 'retry', status: 503, code: 'http_5xx', ...more })
const rejected = (attempt: number, startedAt: number, more: Partial<Attempt> = {}) =>
  tried({ attempt, startedAt, outcome: 'rejected', status: 404, code: 'http_404', ...more })
const held = (attempt: number, startedAt: number) =>
  tried({ attempt, startedAt, urlIndex: null, outcome: 'deferred', status: null, code: 'destination_paused' })
const dead = (time: number, deadReason = 'refused') =>
  letterOf(aDeadOne({ deadAt: time, deadReason }), {
    partition: 0,
    offset: 0,
    timestamp: 0,
    key: '',
    code: null,
  })

const NOTHING_KNOWN = {
  destinationId: 'crm',
  destination: aDestination(),
  attempts: [],
  dead: undefined,
  knownSince: 0,
}
type Facts = Omit<Known, 'kept' | 'changedAt'> & { changedAt?: number } & {
  destination: Destination | undefined
}

function statusOf(facts: Partial<Facts>, of = event) {
  const { destination, ...known }: Facts = { ...NOTHING_KNOWN, ...facts }
  return deliveryStatus(of, { changedAt: undefined, ...known, kept: keptFrom(of, destination) }, ladder)
}

describe('routing', () => {
  test.each<[string, Partial<Facts>, Parameters<typeof anEvent>[0], string | null]>([
    ['to a destination that takes it', {}, {}, null],
    ['not where it is turned off', { destination: aDestination({ enabled: false }) }, {}, 'disabled'],
    ['not for its type', { destination: aDestination({ eventTypes: ['page'] }) }, {}, 'type'],
    ['not as the call says so', {}, { integrations: '{"Webhooks":false}' }, 'integrations'],
    ['not from another source', { destination: aDestination({ sourceIds: ['app'] }) }, {}, 'source'],
    ['not to a removed destination', { destination: undefined }, {}, 'removed'],
  ])('%s', (_, known, fields, reason) => {
    expect(statusOf(known, anEvent(fields))).toMatchObject({ routed: reason === null, reason })
  })
})

test('an event whose own integrations exclude webhooks was never routed', () => {
  const event = anEvent({ receivedAt: 1_000, integrations: '{"All":false}' })
  expect(statusOf({ changedAt: 1_001, knownSince: 1_001 }, event)).toMatchObject({ state: null })
})

describe('delivery state', () => {
  test.each<[string, Partial<Facts>, object]>([
    ['nothing yet', {}, { state: 'waiting', nextAttemptAt: null }],
    ['from before the known attempts', { knownSince: 1_001 }, { state: 'unknown' }],
    ['from before the settings changed', { changedAt: 1_001 }, { state: 'unknown' }],
    ['from after the settings changed', { changedAt: 1_000 }, { state: 'waiting' }],
    [
      'attempted, from before the settings changed',
      { changedAt: 9_999, attempts: [tried({})] },
      { state: 'delivered' },
    ],
    ['not routed', { destination: aDestination({ enabled: false }) }, { state: null }],
    [
      'not routed now, but perhaps before the settings changed',
      { destination: aDestination({ enabled: false }), changedAt: 1_001, knownSince: 1_001 },
      { state: 'unknown', routed: false, reason: 'disabled' },
    ],
    [
      'not routed now, from before the settings changed, and not attempted since',
      { destination: aDestination({ enabled: false }), changedAt: 1_001, knownSince: 1_000 },
      { state: null },
    ],
    [
      'not routed, from after the settings changed',
      { destination: aDestination({ enabled: false }), changedAt: 1_000, knownSince: 1_001 },
      { state: null },
    ],
    [
      'to a removed destination, from before the known attempts',
      { destination: undefined, knownSince: 1_001 },
      { state: 'unknown', reason: 'removed' },
    ],
    ['delivered', { attempts: [tried({})] }, { state: 'delivered', nextAttemptAt: null }],
    [
      'delivered before it was switched off',
      { attempts: [tried({})], destination: aDestination({ enabled: false }) },
      { state: 'delivered', routed: false },
    ],
    [
      'delivered at the second',
      { attempts: [failed(1, 2_000), tried({ attempt: 2 })] },
      { state: 'delivered' },
    ],
    [
      'delivered to one URL of two',
      { attempts: [failed(1, 2_000), tried({ urlIndex: 1 })] },
      { state: 'delivered' },
    ],
    ['failed once', { attempts: [failed(1, 2_000)] }, { state: 'retrying', nextAttemptAt: 7_010 }],
    [
      'failed twice, the slowest URL last',
      {
        attempts: [failed(1, 2_000), failed(2, 8_000), failed(2, 8_001, { urlIndex: 1, durationMs: 5_000 })],
      },
      { state: 'retrying', nextAttemptAt: 43_001 },
    ],
    [
      'put off',
      { attempts: [failed(1, 2_000), tried({ attempt: 2, outcome: 'deferred', code: 'breaker_open' })] },
      { state: 'deferred', nextAttemptAt: null },
    ],
    [
      'rejected by one URL while the other was deferred',
      { attempts: [rejected(1, 2_000), tried({ urlIndex: 1, outcome: 'deferred', code: 'breaker_open' })] },
      { state: 'deferred', nextAttemptAt: null },
    ],
    [
      'rejected by one URL, and later by the other, which was deferred before',
      {
        attempts: [
          tried({ urlIndex: 1, outcome: 'deferred', code: 'queue_full' }),
          rejected(1, 2_000),
          rejected(1, 8_000, { urlIndex: 1 }),
        ],
      },
      { state: 'rejected', dead: null, nextAttemptAt: null },
    ],
    [
      'put off, then tried',
      { attempts: [tried({ outcome: 'deferred', code: 'queue_full' }), failed(1, 3_000)] },
      { state: 'retrying', nextAttemptAt: 8_010 },
    ],
    [
      'held after it failed, as its destination is paused',
      { attempts: [failed(1, 2_000), held(2, 8_000)] },
      { state: 'held', nextAttemptAt: null },
    ],
    [
      'failed again after hours on hold, which do not count towards the window',
      {
        attempts: [failed(1, 2_000), held(2, 2 * WINDOW_MS), failed(2, 2 * WINDOW_MS + 8_000)],
        knownSince: 2 * WINDOW_MS,
      },
      { state: 'retrying', nextAttemptAt: 2 * WINDOW_MS + 38_010 },
    ],
    [
      'held, then rejected by both URLs',
      { attempts: [held(1, 2_000), rejected(1, 8_000), rejected(1, 8_001, { urlIndex: 1 })] },
      { state: 'rejected', nextAttemptAt: null },
    ],
    [
      'failed at all rungs, but its dead letter has not arrived yet',
      { attempts: [1, 2, 3].map((attempt) => failed(attempt, attempt * 1_000)) },
      { state: 'dead', dead: null, nextAttemptAt: null },
    ],
    [
      'refused',
      { attempts: [tried({ outcome: 'refused', status: null, code: 'tls_expired' })] },
      { state: 'dead' },
    ],
    [
      'given up',
      { attempts: [failed(1, 2_000)], dead: dead(2_010) },
      { state: 'dead', dead: { time: 2_010 } },
    ],
    ['given up, because it was rejected', { dead: dead(2_010, 'rejected') }, { state: 'rejected' }],
    ['given up, its attempts not known', { dead: dead(2_010), knownSince: 9_999 }, { state: 'dead' }],
    [
      'given up, and replayed',
      { attempts: [failed(1, 2_000), failed(1, 9_000)], dead: dead(2_010) },
      { state: 'retrying', nextAttemptAt: 14_010, dead: { time: 2_010 } },
    ],
    [
      'failed, its next attempt not known any more',
      { attempts: [failed(1, 2_000)], knownSince: 7_011 },
      { state: 'unknown', nextAttemptAt: null },
    ],
    [
      'deferred, perhaps still',
      { attempts: [tried({ outcome: 'deferred', code: 'breaker_open' })], knownSince: 32_000 },
      { state: 'deferred' },
    ],
    [
      'deferred, longer ago than any rung',
      { attempts: [tried({ outcome: 'deferred', code: 'breaker_open' })], knownSince: 32_001 },
      { state: 'unknown' },
    ],
    [
      'cancelled',
      {
        attempts: [
          tried({ outcome: 'cancelled', urlIndex: null, status: null, code: 'destination_disabled' }),
        ],
      },
      { state: 'cancelled' },
    ],
  ])('%s', (_, known, nextAttemptTimes) => {
    expect(statusOf(known)).toMatchObject(nextAttemptTimes)
  })

  test('past the window there is no next attempt', () => {
    const { state } = statusOf({ attempts: [failed(1, 2_000), failed(2, 3_600_000)] })
    expect(state).toBe('dead')
  })
})

describe("an event that a destination's rules do not let pass", () => {
  const ruled = (rules: NonNullable<Destination['rules']>) => ({
    destination: aDestination({ rules, hashKey: 'a-hash-key-of-this-test' }),
  })

  test('names the condition', () => {
    const known = ruled({ filter: { any: [{ path: 'event', eq: 'Paid' }] } })
    expect(statusOf(known, anEvent({ event: 'Left' }))).toMatchObject({
      routed: false,
      reason: 'filtered',
      condition: expect.stringMatching(/^\/filter/),
      state: null,
    })
    expect(statusOf(known, anEvent({ event: 'Paid' }))).toMatchObject({ routed: true, condition: null })
  })

  test('or is outside the sample', () => {
    expect(statusOf(ruled({ sample: { rate: 0 } }))).toMatchObject({ reason: 'sampled_out', condition: null })
  })
})
