import { expect, test } from 'vitest'
import { ofNow } from '../../console/src/views/destinations/health/webhook-health.ts'

const at = (minute: number) => `2026-01-02T03:0${minute}:00.000Z`
const error = (minute: number) => ({ code: 'http_5xx', status: 503, at: at(minute), response: null })

test('an error of before the last change may be of another URL; one since is of this one', () => {
  const of = (minute: number) =>
    ofNow({ lastError: error(minute), lastDeliveredAt: null }, at(5)).isErrorOfNow
  expect([of(4), of(5), of(6)]).toEqual([false, true, true])
})

test('so with what was delivered; and an error is over when something was delivered after it', () => {
  const of = (errorAt: number, deliveredAt: number) =>
    ofNow({ lastError: error(errorAt), lastDeliveredAt: at(deliveredAt) }, at(5))
  expect(of(6, 7)).toEqual({ isErrorOfNow: true, isErrorOver: true, isDeliveredOfNow: true })
  expect(of(6, 4)).toEqual({ isErrorOfNow: true, isErrorOver: false, isDeliveredOfNow: false })
})

test('where there is none, none is of now', () => {
  expect(ofNow({ lastError: null, lastDeliveredAt: null }, at(5))).toEqual({
    isErrorOfNow: false,
    isErrorOver: false,
    isDeliveredOfNow: false,
  })
})
