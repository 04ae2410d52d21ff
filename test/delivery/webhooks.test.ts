import { describe, expect, test } from 'vitest'
import type { Ended } from '../../delivery/breaker.ts'
import { createWebhooks, KEPT_MS } from '../../delivery/webhooks.ts'

const target = (path: number) => ({ webhook: `d 0 http://a/${path}`, origin: 'http://a' })

/** Webhooks of one host, each with five such POSTs at 0. */
function postedTo(count: number, ended: Ended, sent = true) {
  const webhooks = createWebhooks()
  const all = Array.from({ length: count }, (_, path) => webhooks.of(target(path), 0))
  for (const each of all) for (let post = 0; post < 5; post++) webhooks.ended(each, ended, { sent, now: 0 })
  return { webhooks, all }
}

describe('the breaker that a POST counts for', () => {
  const open = { closed: 0, open: 1 }
  const closed = { closed: 1, open: 0 }

  test.each<[string, Ended, boolean, typeof open, typeof open]>([
    ["the webhook's, if it failed after it was sent", 'failed', true, open, closed],
    ["the host's, if it could not be sent", 'failed', false, closed, open],
    ['neither, if it was refused before it was sent', 'answered', false, closed, closed],
  ])('is %s', (_, ended, sent, ofWebhooks, ofHosts) => {
    const { webhooks } = postedTo(1, ended, sent)
    expect(webhooks.count()).toEqual({ webhooks: ofWebhooks, hosts: ofHosts })
  })

  test("a refusal says nothing about the host, so it does not close the host's", () => {
    const { webhooks, all } = postedTo(1, 'failed', false)
    for (const each of all) webhooks.ended(each, 'answered', { sent: false, now: 1 })
    expect(webhooks.count().hosts).toEqual(open)
  })
})

describe('webhooks of one host with open breakers', () => {
  test('are probed 30 ms apart, but those that answered in the last minute are not held up', () => {
    const { webhooks, all } = postedTo(100, 'failed')
    const probed = (now: number) => all.filter((each) => webhooks.permit(each, now) === 'probe').length
    expect([probed(2_999), probed(3_000)]).toEqual([0, 100])
    const answered = webhooks.of(target(100), 0)
    webhooks.ended(answered, 'answered', { sent: true, now: 0 })
    for (let post = 0; post < 5; post++) webhooks.ended(answered, 'failed', { sent: true, now: 0 })
    expect([webhooks.permit(answered, 999), webhooks.permit(answered, 1_000)]).toEqual(['nothing', 'probe'])
  })
})

test('a webhook is forgotten after 15 minutes without use, and so is its host', () => {
  const { webhooks } = postedTo(2, 'failed')
  webhooks.forget(KEPT_MS)
  expect(webhooks.count().webhooks.open).toBe(2)
  webhooks.forget(KEPT_MS + 60_000)
  expect(webhooks.count()).toEqual({ webhooks: { closed: 0, open: 0 }, hosts: { closed: 0, open: 0 } })
})
