import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { plan } from '../../deliverer/plan.ts'
import { request, signature } from '../../deliverer/request.ts'
import { aDelivery, aDestination } from '../helpers/events.ts'

const webhook = { url: 'https://r.example/hook?a=1', headers: { 'X-Team': 'crm' } }
const signed = aDestination({ sharedSecret: 'sécret', webhooks: [webhook] })

describe('a POST', () => {
  test('carries the body untouched, our headers, and the configured ones', () => {
    const { url, headers, body } = request(aDelivery(), 3, { destination: signed, urlIndex: 0 }, webhook)
    expect({ url, body }).toEqual({ url: webhook.url, body: '{"version":1,"type":"track"}' })
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

  test('has no signature without a secret', () => {
    const { headers } = request(aDelivery(), 1, { destination: aDestination(), urlIndex: 0 }, webhook)
    expect(headers).not.toHaveProperty('X-Signature')
  })

  test('keeps our headers when a configured one has the same name in other capitals', () => {
    const sly = { url: webhook.url, headers: { 'x-signature': 'forged', 'USER-AGENT': 'me' } }
    const { headers } = request(aDelivery(), 1, { destination: signed, urlIndex: 0 }, sly)
    expect(Object.keys(headers).filter((name) => /x-signature|user-agent/i.test(name))).toEqual([
      'User-Agent',
      'X-Signature',
    ])
    expect(headers['User-Agent']).toBe('Sluice/1.0')
  })

  test.each([
    ['plain', 'plain'],
    ['line\r\nbreak', 'line%0D%0Abreak'],
    ['naïve', 'na%C3%AFve'],
    ['\ud800', '%EF%BF%BD'],
    [' padded', '%20padded'],
  ])('names message %j as %s, which a header can hold', (messageId, sent) => {
    const { headers } = request(aDelivery({ messageId }), 1, { destination: signed, urlIndex: 0 }, webhook)
    expect(headers['X-Message-Id']).toBe(sent)
  })
})

// tools that a machine may lack; .ci/run installs them
const has = (command: string, argument: string) => spawnSync(command, [argument]).status === 0

describe('the signature', () => {
  const body = '{"type":"track","event":"Grüße ✓","n":1.5}'

  test.skipIf(!has('python3', '--version'))('is what Python computes over the received bytes', () => {
    const program =
      'import hmac,hashlib,sys; print(hmac.new("sécret".encode(), sys.stdin.buffer.read(), hashlib.sha1).hexdigest())'
    const { stdout } = spawnSync('python3', ['-c', program], {
      input: body,
      encoding: 'utf8',
      env: { ...process.env, PYTHONUTF8: '1' },
    })
    expect(signature(body, 'sécret')).toBe(stdout.trim())
  })

  test.skipIf(!has('openssl', 'version'))('is what OpenSSL computes over the received bytes', () => {
    const { stdout } = spawnSync('openssl', ['dgst', '-sha1', '-hmac', 'sécret'], {
      input: body,
      encoding: 'utf8',
    })
    expect(stdout).toContain(signature(body, 'sécret'))
  })
})

describe('the plan of an attempt', () => {
  const two = aDestination({
    webhooks: [
      { url: 'http://a.example/', headers: {} },
      { url: 'http://b.example/', headers: {} },
    ],
  })

  test('posts to every URL that has not refused for good', () => {
    const planned = plan(aDelivery({ refusedUrls: ['http://a.example/'], attempt: 1 }), two)
    expect(planned).toMatchObject({
      kind: 'post',
      requests: [{ urlIndex: 1, url: 'http://b.example/', headers: { 'X-Attempt': '2' } }],
    })
  })

  test('is refused when all have', () => {
    expect(plan(aDelivery({ refusedUrls: ['http://a.example/', 'http://b.example/'] }), two)).toEqual({
      kind: 'refused',
    })
  })

  test('is cancelled when the destination is deleted or switched off', () => {
    expect(plan(aDelivery(), undefined)).toEqual({ kind: 'cancelled', code: 'destination_deleted' })
    expect(plan(aDelivery(), aDestination({ enabled: false }))).toEqual({
      kind: 'cancelled',
      code: 'destination_disabled',
    })
  })
})
