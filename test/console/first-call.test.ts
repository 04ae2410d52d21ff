import { expect, test } from 'vitest'
import type { Attempt, Call } from '../../console/src/api/live.ts'
import type { Row } from '../../console/src/views/live/feed.ts'
import { firstCallOf } from '../../console/src/views/set-up/first-call.ts'

const at = (minute: number) => `2026-01-02T03:0${minute}:00.000Z`
const turnedOnAt = at(5)
const rejected = (minute: number): Row => ({
  ...{ kind: 'rejected', id: `r${minute}`, at: at(minute) },
  rejected: { code: 'missing_user', message: 'no user', receivedAt: at(minute), raw: '{}', truncated: false },
})
const called = (minute: number, ...outcomes: Attempt['outcome'][]): Row => {
  const messageId = `m${minute}`
  const call: Call = { messageId, type: 'track', receivedAt: at(minute), timestamp: at(minute) }
  const attempts = outcomes.map((outcome, index) => ({
    ...{ deliveryId: 'd1', messageId, sourceId: 'shop', destinationId: 'crm', urlIndex: 0 },
    ...{
      attempt: index + 1,
      startedAt: at(minute),
      durationMs: 1,
      status: 200,
      code: null,
      response: null,
      urlHash: null,
    },
    outcome,
  }))
  return { kind: 'call', id: messageId, at: at(minute), call, attempts }
}
const of = (...rows: Row[]) => firstCallOf(rows, { destinationId: 'crm', turnedOnAt })

test('calls from before the destination was turned on do not count', () => {
  expect(of(rejected(4), called(3, 'delivered'))).toEqual({
    delivered: undefined,
    attempted: undefined,
    rejected: undefined,
  })
})

test('a delivered call wins; otherwise the latest attempt of the newest call counts', () => {
  expect(of(called(7, 'retry', 'refused'), called(6, 'retry')).attempted?.outcome).toBe('refused')
  expect(of(called(7, 'retry', 'delivered')).delivered?.call.messageId).toBe('m7')
})

test('a rejected call is reported until a newer call arrives', () => {
  expect(of(rejected(6)).rejected?.code).toBe('missing_user')
  expect(of(called(7), rejected(6)).rejected).toBeUndefined()
  const missed: Row = { kind: 'missed', id: 'missed', at: at(6), gap: { since: at(6), until: undefined } }
  expect(of(missed, rejected(6)).rejected?.code).toBe('missing_user')
})
