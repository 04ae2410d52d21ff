import { describe, expect, test } from 'vitest'
import { request } from '../../delivery/request.ts'
import { signature } from '../../delivery/signatures.ts'
import { prepare } from '../../delivery/targets.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { type Destination, destinationShape } from '../../settings/settings.ts'
import { aDelivery, aDestination } from '../helpers/events.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const webhook = { url: 'https://r.example/hook?a=1', headers: { 'X-Team': 'crm' } }
const signed = aDestination({ sharedSecret: 'sécret', webhooks: [webhook] })

const post = (destination: Destination, delivery: Partial<Delivery> = {}, attempt = 1) =>
  request(aDelivery(delivery), { destination, urlIndex: 0, attempt, now })
const forging = (name: string) => ({ webhooks: [{ url: webhook.url, headers: { [name]: 'forged' } }] })
const configured = (headers: Record<string, string>, more: Partial<Destination> = {}) =>
  aDestination({ webhooks: [{ url: webhook.url, headers }], ...more })

describe('a POST', () => {
  test('has the body unchanged, our headers, and the configured ones', () => {
    const { url, headers, body, retryOn } = post(signed, {}, 3)
    expect({ url, body, retryOn }).toEqual({
      url: webhook.url,
      body: '{"version":1,"type":"track"}',
      retryOn: [],
    })
    expect(headers).toEqual({
      'User-Agent': 'Sluice/1.0',
      'Content-Type': 'application/json',
      'X-Signature': signature(aDelivery().body, 'sécret'),
      'X-Delivery-Id': '0123456789abcdef0123456789abcdef',
      'X-Message-Id': 'm1',
      'X-Attempt': '3',
      'X-Team': 'crm',
    })
  })

  test('has no signature without a secret, whatever other settings say', () => {
    const previous = { previousSecret: 'old', previousSecretExpiresAt: '2099-01-01T00:00:00Z' }
    const { headers } = post(aDestination({ standardWebhooks: true, ...previous }))
    expect(Object.keys(headers).filter((name) => /signature|webhook/i.test(name))).toEqual([])
  })

  test('includes the statuses that the destination wants retried', () => {
    expect(post(aDestination({ retryOn: [408, 429] })).retryOn).toEqual([408, 429])
  })

  test('of a replay is marked', () => {
    expect(post(signed).headers).not.toHaveProperty('X-Replay')
    expect(post(signed, { replay: true }).headers).toMatchObject({ 'X-Replay': 'true', 'X-Team': 'crm' })
  })

  test('goes only to the requested webhook', () => {
    const two = aDestination({
      webhooks: [webhook, { url: 'https://b.example/', headers: { 'X-Team': 'b' } }],
    })
    const of = (urlIndex: number) => request(aDelivery(), { destination: two, urlIndex, attempt: 1, now })
    expect(of(1)).toMatchObject({ urlIndex: 1, url: 'https://b.example/', headers: { 'X-Team': 'b' } })
    expect(() => of(2)).toThrow(RangeError)
  })

  test('uses the settings of its own destination, and does not change them', () => {
    const before = structuredClone(signed)
    post(signed).headers['X-Team'] = 'changed'
    expect(post(signed).headers['X-Team']).toBe('crm')
    expect(post({ ...signed, sharedSecret: 'other' }).headers['X-Signature']).toBe(
      signature(aDelivery().body, 'other'),
    )
    expect(signed).toEqual(before)
  })

  test.each([
    ['plain', 'plain'],
    ['line\r\nbreak', 'line%0D%0Abreak'],
    ['naïve', 'na%C3%AFve'],
    ['\ud800', '%EF%BF%BD'],
    [' padded', '%20padded'],
  ])('encodes message %j as %s, which a header can contain', (messageId, sent) => {
    expect(post(signed, { messageId }).headers['X-Message-Id']).toBe(sent)
  })
})

describe('a configured header', () => {
  const all = {
    sharedSecret: 's',
    standardWebhooks: true,
    previousSecret: 'p',
    previousSecretExpiresAt: '2099-01-01T00:00:00Z',
  }

  test('is refused in settings or replaced by ours of the same name, in any case', () => {
    const names = Object.keys(post(aDestination(all), { replay: true }).headers)
    expect(names).toHaveLength(11)
    const free = names.filter((name) => destinationShape.safeParse({ name: 'x', ...forging(name) }).success)
    expect(free).toEqual([
      'X-Replay',
      'X-Signature-Previous',
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
    ])
    for (const name of free)
      for (const written of [name.toLowerCase(), name.toUpperCase(), name]) {
        const { headers } = post(aDestination({ ...forging(written), ...all }), { replay: true })
        expect(Object.keys(headers).sort()).toEqual(names.toSorted())
        expect(Object.values(headers)).not.toContain('forged')
      }
  })

  test('is sent if we send none of that name', () => {
    const free = { 'webhook-id': 'mine', 'X-Replay': 'mine', 'x-signature-previous': 'mine' }
    expect(post(configured(free, { sharedSecret: 's' })).headers).toMatchObject(free)
  })

  test('named like the signature of a rotation is sent before and after it', () => {
    const mine = { 'x-signature-previous': 'mine' }
    const until = (previousSecretExpiresAt: string) =>
      post(configured(mine, { ...all, previousSecretExpiresAt })).headers
    expect(until(new Date(now).toISOString())).toMatchObject(mine)
    expect(until(new Date(now).toISOString())).not.toHaveProperty('X-Signature-Previous')
    expect(until(new Date(now + 1).toISOString())).not.toHaveProperty('x-signature-previous')
    expect(
      post(configured(mine, { previousSecret: 'p', previousSecretExpiresAt: '2099-01-01T00:00:00Z' }))
        .headers,
    ).toMatchObject(mine)
  })
})

describe('preparing an attempt', () => {
  const two = aDestination({
    webhooks: [
      { url: 'http://a.example/', headers: {} },
      { url: 'http://b.example/', headers: {} },
    ],
  })

  test('posts to every webhook that has not refused for good', () => {
    const planned = prepare(aDelivery({ refusedUrls: ['http://a.example/'], attempt: 1 }), two)
    expect(planned).toMatchObject({
      kind: 'post',
      targets: [{ urlIndex: 1, url: 'http://b.example/' }],
    })
  })

  test('is refused when all have', () => {
    expect(prepare(aDelivery({ refusedUrls: ['http://a.example/', 'http://b.example/'] }), two)).toEqual({
      kind: 'refused',
    })
  })

  test('is cancelled when the destination is deleted or disabled', () => {
    expect(prepare(aDelivery(), undefined)).toEqual({ kind: 'cancelled', code: 'destination_deleted' })
    expect(prepare(aDelivery(), aDestination({ enabled: false }))).toEqual({
      kind: 'cancelled',
      code: 'destination_disabled',
    })
  })
})
