import { expect, test } from 'vitest'
import { webhookHealth } from '../../console/src/views/destinations/health/webhook-health.ts'

const at = (minute: number) => `2026-01-02T03:0${minute}:00.000Z`
const error = (minute: number) => ({ code: 'http_5xx', status: 503, at: at(minute), response: null })
const webhook = { lastError: null, lastDeliveredAt: null }

test('an error from before the last change of the settings is not current; a later one is', () => {
  const of = (minute: number) => webhookHealth({ ...webhook, lastError: error(minute) }, at(5)).isErrorCurrent
  expect([of(4), of(5), of(6)]).toEqual([false, true, true])
})

test('the same is true of deliveries; an error is over when a later delivery succeeded', () => {
  const of = (errorAt: number, deliveredAt: number) =>
    webhookHealth({ ...webhook, lastError: error(errorAt), lastDeliveredAt: at(deliveredAt) }, at(5))
  expect(of(6, 7)).toMatchObject({ isErrorCurrent: true, isErrorOver: true, isDeliveryCurrent: true })
  expect(of(6, 4)).toMatchObject({ isErrorCurrent: true, isErrorOver: false, isDeliveryCurrent: false })
})

test('without requests nothing is current', () => {
  expect(webhookHealth(webhook, at(5))).toEqual({
    isErrorCurrent: false,
    isErrorOver: false,
    isDeliveryCurrent: false,
  })
})
