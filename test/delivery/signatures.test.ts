import { spawnSync } from 'node:child_process'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { request } from '../../delivery/request.ts'
import { signature } from '../../delivery/signatures.ts'
import type { Destination } from '../../settings/settings.ts'
import { aDelivery, aDestination } from '../helpers/events.ts'

const body = '{"type":"track","event":"Grüße ✓","n":1.5}'
const now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const HOUR = 3_600_000

// a machine may lack these; .ci/run installs them
const has = (command: string, argument: string) => spawnSync(command, [argument]).status === 0

describe('the signature', () => {
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

const headersOf = (fields: Partial<Destination>, at = now) =>
  request(aDelivery({ body }), { destination: aDestination(fields), urlIndex: 0, attempt: 1, now: at })
    .headers
const expiring = (at: number) => ({
  previousSecret: 'old',
  previousSecretExpiresAt: new Date(at).toISOString(),
})

describe('during a rotation', () => {
  test('the previous secret also signs, until its expiry', () => {
    const rotating = { sharedSecret: 'new', ...expiring(now + HOUR) }
    const both = { 'X-Signature': signature(body, 'new'), 'X-Signature-Previous': signature(body, 'old') }
    expect(headersOf(rotating)).toMatchObject(both)
    expect(headersOf(rotating, now + HOUR - 1)).toMatchObject(both)
    for (const at of [now + HOUR, now + 2 * HOUR]) {
      expect(headersOf(rotating, at)['X-Signature']).toBe(both['X-Signature'])
      expect(headersOf(rotating, at)).not.toHaveProperty('X-Signature-Previous')
    }
  })

  test('an expiry in another time zone is the same moment', () => {
    const until = {
      sharedSecret: 'new',
      previousSecret: 'old',
      previousSecretExpiresAt: '2026-01-02T05:04:06+02:00',
    }
    expect(headersOf(until)).toHaveProperty('X-Signature-Previous')
    expect(headersOf(until, now + 1_000)).not.toHaveProperty('X-Signature-Previous')
  })

  test('a previous secret without an expiry does not sign', () => {
    expect(headersOf({ sharedSecret: 'new', previousSecret: 'old' })).not.toHaveProperty(
      'X-Signature-Previous',
    )
  })
})

describe('verified by the Standard Webhooks library', () => {
  // it compares the timestamp with its own clock
  beforeEach(() => void vi.useFakeTimers({ now }))
  afterEach(() => void vi.useRealTimers())

  const secret = `whsec_${Buffer.from('24 bytes of a real secret').toString('base64')}`
  const older = `whsec_${Buffer.from('another secret of 27 bytes.').toString('base64')}`
  const verifies = (key: Webhook, headers: Record<string, string>) => () => key.verify(body, headers)

  test('a POST is valid', () => {
    const headers = headersOf({ sharedSecret: secret, standardWebhooks: true })
    expect(verifies(new Webhook(secret), headers)()).toEqual(JSON.parse(body))
    expect(headers).toMatchObject({
      'webhook-id': '0123456789abcdef0123456789abcdef',
      'webhook-timestamp': '1767323045',
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
      'X-Signature': signature(body, secret),
    })
  })

  test('a secret without prefix is its bytes in UTF-8', () => {
    const raw = new Webhook(new TextEncoder().encode('sécret'), { format: 'raw' })
    verifies(raw, headersOf({ sharedSecret: 'sécret', standardWebhooks: true }))()
  })

  test('another body, secret or time is invalid', () => {
    const headers = headersOf({ sharedSecret: secret, standardWebhooks: true })
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow('No matching signature')
    expect(verifies(new Webhook(older), headers)).toThrow('No matching signature')
    const later = { ...headers, 'webhook-timestamp': String(Math.floor(now / 1_000) + 1) }
    expect(verifies(new Webhook(secret), later)).toThrow('No matching signature')
  })

  test('both secrets are valid during a rotation, the current one first; afterwards only the current one', () => {
    const previous = { previousSecret: older, previousSecretExpiresAt: new Date(now + HOUR).toISOString() }
    const rotating = { sharedSecret: secret, standardWebhooks: true, ...previous }
    const headers = headersOf(rotating)
    verifies(new Webhook(secret), headers)()
    verifies(new Webhook(older), headers)()
    const [first, second] = headers['webhook-signature']?.split(' ') ?? []
    expect([first, second]).toEqual(
      [secret, older].map((key) => new Webhook(key).sign(aDelivery().deliveryId, new Date(now), body)),
    )
    vi.setSystemTime(now + HOUR)
    expect(verifies(new Webhook(older), headersOf(rotating, now + HOUR))).toThrow('No matching signature')
    verifies(new Webhook(secret), headersOf(rotating, now + HOUR))()
  })

  test('the headers are sent only if the destination asks for them', () => {
    expect(headersOf({ sharedSecret: secret })).not.toHaveProperty('webhook-id')
    expect(headersOf({ sharedSecret: secret, standardWebhooks: false })).not.toHaveProperty('webhook-id')
  })
})

test('a secret that only looks like base64 still signs', () => {
  for (const sharedSecret of ['whsec_', 'whsec_!!!', 'whsec_a'])
    expect(headersOf({ sharedSecret, standardWebhooks: true })['webhook-signature']).toMatch(/^v1,/)
})
