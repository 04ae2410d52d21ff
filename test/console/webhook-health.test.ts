import { expect, test } from 'vitest'
import { webhookHealth } from '../../console/src/views/destinations/health/webhook-health.ts'

const at = (minute: number) => `2026-01-02T03:0${minute}:00.000Z`
const error = (minute: number) => ({ code: 'http_5xx', status: 503, at: at(minute), response: null })
const webhook = { state: 'failing', breaker: 'closed', lastError: null, lastDeliveredAt: null } as const

test('an error from before the last change may belong to another URL; a later one is current', () => {
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
  expect(webhookHealth({ ...webhook, state: 'healthy' }, at(5))).toEqual({
    state: 'healthy',
    isErrorCurrent: false,
    isErrorOver: false,
    isDeliveryCurrent: false,
  })
})

test('an error from before the last change does not make the webhook failing, but an open breaker does', () => {
  const of = (breaker: 'closed' | 'open', minute: number) =>
    webhookHealth({ ...webhook, breaker, lastError: error(minute) }, at(5)).state
  expect([of('closed', 6), of('closed', 4), of('open', 4)]).toEqual(['failing', 'idle', 'failing'])
})
