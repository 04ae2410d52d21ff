import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  classifyError,
  classifyResponse,
  codeOf,
  type ResponseHead,
  type ResponseRules,
} from '../../delivery/outcome.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5)
const rules: ResponseRules = { retryOn: [], now }
const answered = (status: number, headers: ResponseHead['headers'] = {}, more: Partial<ResponseRules> = {}) =>
  classifyResponse({ status, headers }, { ...rules, ...more })

describe('a response', () => {
  test.each([200, 201, 202, 204, 299])('%i is a delivery', (status) => {
    expect(answered(status)).toEqual({ outcome: 'delivered', status })
  })

  test.each([300, 301, 302, 304, 400, 401, 404, 408, 410, 425, 429, 499])('%i is a rejection', (status) => {
    expect(answered(status)).toEqual({ outcome: 'rejected', status, code: `http_${status}` })
  })

  test.each([500, 502, 503, 599, 600, 999])('%i is retried', (status) => {
    expect(answered(status)).toEqual({ outcome: 'retry', code: 'http_5xx', status })
  })

  test.each([0, 42, 99, 100, 101, 103])('%d does not answer a POST: a protocol error', (status) => {
    expect(answered(status)).toMatchObject({ outcome: 'retry', code: 'protocol_error' })
  })

  test.each([
    [{ 'content-length': '5' }, 'protocol_error'],
    [{ 'transfer-encoding': 'chunked' }, 'protocol_error'],
    [{ 'content-length': ['0', '5'] }, 'protocol_error'],
    [{ 'content-length': 'x' }, 'protocol_error'],
    [{ 'content-length': '0' }, undefined],
    [{ 'content-type': 'text/plain' }, undefined],
  ])('204 with %j', (headers, code) => {
    const expected = code ? { outcome: 'retry', code, status: 204 } : { outcome: 'delivered', status: 204 }
    expect(answered(204, headers)).toEqual(expected)
  })

  test('of another status may have a body', () => {
    for (const status of [200, 304, 404])
      expect(answered(status, { 'content-length': '5', 'transfer-encoding': 'chunked' })).toEqual(
        answered(status),
      )
  })
})

describe('if the destination asks for it', () => {
  const retryOn = [408, 429]

  test('only these statuses are retried', () => {
    expect(answered(408, {}, { retryOn })).toEqual({ outcome: 'retry', code: 'http_408', status: 408 })
    expect(answered(429, {}, { retryOn })).toEqual({ outcome: 'retry', code: 'http_429', status: 429 })
    expect(answered(425, {}, { retryOn })).toEqual(answered(425))
  })

  test('Retry-After applies to retries, including 5xx, and to nothing else', () => {
    const headers = { 'retry-after': '120' }
    expect(answered(429, headers, { retryOn })).toMatchObject({ outcome: 'retry', retryAfterMs: 120_000 })
    expect(answered(503, headers, { retryOn })).toMatchObject({ code: 'http_5xx', retryAfterMs: 120_000 })
    expect(answered(404, headers, { retryOn })).toEqual(answered(404))
    expect(answered(503, headers)).toEqual({ outcome: 'retry', code: 'http_5xx', status: 503 })
    expect(answered(429, { 'retry-after': 'soon' }, { retryOn })).not.toHaveProperty('retryAfterMs')
  })
})

test('every response head has an outcome: delivered only for 2xx, rejected only for 3xx and 4xx', () => {
  const value = fc.option(fc.oneof(fc.string(), fc.array(fc.string())), { nil: undefined })
  const headers = fc.record({ 'retry-after': value, 'content-length': value, 'transfer-encoding': value })
  const retryOn = fc.subarray([408, 425, 429])
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999 }), headers, retryOn, (status, some, on) => {
      const outcome = answered(status, some, { retryOn: on })
      const hundred = Math.floor(status / 100)
      if (outcome.outcome === 'delivered') expect(hundred).toBe(2)
      else if (outcome.outcome === 'rejected')
        expect([hundred, outcome.code]).toEqual([expect.toBeOneOf([3, 4]), `http_${status}`])
      else
        expect(outcome).toMatchObject({ code: expect.stringMatching(/^(http_5xx|http_4..|protocol_error)$/) })
    }),
  )
})

/** Our name for a failure, and the names of undici 7.30.2, Node 24 and OpenSSL. */
const TABLE: ['retry' | 'refused', string, string][] = [
  ['refused', 'tls_self_signed', 'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN'],
  ['refused', 'tls_expired', 'CERT_HAS_EXPIRED'],
  ['refused', 'tls_not_yet_valid', 'CERT_NOT_YET_VALID'],
  ['refused', 'tls_wrong_host', 'ERR_TLS_CERT_ALTNAME_INVALID HOSTNAME_MISMATCH'],
  ['refused', 'tls_revoked', 'CERT_REVOKED'],
  [
    'refused',
    'tls_untrusted',
    'UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_CRL UNABLE_TO_DECRYPT_CERT_SIGNATURE UNABLE_TO_DECRYPT_CRL_SIGNATURE UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY CERT_SIGNATURE_FAILURE CRL_SIGNATURE_FAILURE CRL_NOT_YET_VALID CRL_HAS_EXPIRED ERROR_IN_CERT_NOT_BEFORE_FIELD ERROR_IN_CERT_NOT_AFTER_FIELD ERROR_IN_CRL_LAST_UPDATE_FIELD ERROR_IN_CRL_NEXT_UPDATE_FIELD UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_CHAIN_TOO_LONG INVALID_CA PATH_LENGTH_EXCEEDED INVALID_PURPOSE CERT_UNTRUSTED CERT_REJECTED UNSPECIFIED',
  ],
  [
    'refused',
    'invalid_request',
    'UND_ERR_INVALID_ARG UND_ERR_NOT_SUPPORTED UND_ERR_REQ_CONTENT_LENGTH_MISMATCH ERR_INVALID_URL',
  ],
  ['refused', 'address_forbidden', 'address_forbidden'],
  [
    'retry',
    'timeout',
    'timeout UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT ETIMEDOUT',
  ],
  ['retry', 'dns_timeout', 'ETIMEOUT'],
  [
    'retry',
    'protocol_error',
    'protocol_error HTTPParserError HPE_INVALID_CONSTANT HPE_INVALID_VERSION HPE_HEADER_OVERFLOW UND_ERR_HEADERS_OVERFLOW UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_RES_EXCEEDED_MAX_SIZE ERR_ASSERTION',
  ],
  ['retry', 'connection_closed', 'connection_closed UND_ERR_SOCKET UND_ERR_INFO'],
  ['retry', 'aborted', 'UND_ERR_ABORT UND_ERR_ABORTED UND_ERR_DESTROYED UND_ERR_CLOSED AbortError'],
  [
    'retry',
    'tls_handshake',
    'EPROTO ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE ERR_OSSL_UNSUPPORTED ERR_TLS_INVALID_PROTOCOL_VERSION OUT_OF_MEM',
  ],
  [
    'retry',
    'unknown_error',
    'UND_ERR UND_ERR_INVALID_RETURN_VALUE UND_ERR_BPL_MISSING_UPSTREAM UND_ERR_REQ_RETRY UND_ERR_RESPONSE UND_ERR_PRX_TLS UND_ERR_MAX_ORIGINS_REACHED UND_ERR_SOCKS5 UND_ERR_WS_MESSAGE_SIZE_EXCEEDED TypeError constructor',
  ],
  ...'ECONNREFUSED ECONNRESET EPIPE EHOSTUNREACH ENETUNREACH EADDRNOTAVAIL EMFILE ENOTFOUND EAI_AGAIN ESERVFAIL EREFUSED ENODATA'
    .split(' ')
    .map((code): [string, string] => [code, code])
    .map(([code, their]): ['retry', string, string] => ['retry', code, their]),
]

describe('no response', () => {
  const rows = TABLE.flatMap(([outcome, code, theirs]) =>
    theirs.split(' ').map((their): [string, string, string] => [their, outcome, code]),
  )
  test.each(rows)('%s is %s %s', (their, outcome, code) => {
    expect(classifyError(their)).toEqual({ outcome, code })
  })

  test('has one of a bounded set of codes, whatever the error', () => {
    const free = fc.oneof(
      fc.string(),
      fc.stringMatching(/^(HPE|ERR_SSL|ERR_TLS|CERT|UND_ERR|E)_[A-Z]{1,20}$/),
    )
    fc.assert(
      fc.property(free, (text) => {
        const { outcome, code } = classifyError(text) as { outcome: string; code: string }
        const listed = TABLE.some(([kind, ours]) => kind === outcome && ours === code)
        // those that keep their name are too many to list twice
        expect(listed || (outcome === 'retry' && code === text && /^E[A-Z_]+$/.test(text))).toBe(true)
      }),
    )
  })
})

describe('an error', () => {
  const withCode = (code: string, message = '') => Object.assign(new Error(message), { code })

  test('has its own code, else that of its cause, else its name', () => {
    const reset = withCode('ECONNRESET')
    expect(codeOf(reset)).toBe('ECONNRESET')
    expect(codeOf(new Error('fetch failed', { cause: reset }))).toBe('ECONNRESET')
    expect(codeOf(new DOMException('late', 'TimeoutError'))).toBe('timeout')
    expect(codeOf(new RangeError('x'))).toBe('RangeError')
    expect(codeOf('thrown text')).toBe('unknown_error')
  })

  test('of a closed connection differs from that of an answer undici does not accept', () => {
    expect(codeOf(withCode('UND_ERR_SOCKET', 'other side closed'))).toBe('connection_closed')
    expect(codeOf(withCode('UND_ERR_SOCKET', 'bad response'))).toBe('protocol_error')
    expect(codeOf(withCode('UND_ERR_SOCKET', 'bad upgrade'))).toBe('protocol_error')
  })

  test('of several addresses is that of a reachable one', () => {
    const of = (...codes: string[]) =>
      codeOf(Object.assign(new AggregateError(codes.map((code) => withCode(code))), { code: codes[0] }))
    expect(of('ENETUNREACH', 'ECONNREFUSED')).toBe('ECONNREFUSED')
    expect(of('ETIMEDOUT', 'ECONNREFUSED')).toBe('ETIMEDOUT')
    expect(of('ENETUNREACH', 'EHOSTUNREACH')).toBe('ENETUNREACH')
    expect(of()).toBe('AggregateError')
  })

  test('with circular causes still has a name', () => {
    const one = new Error('one')
    one.cause = new Error('two', { cause: one })
    const several = new AggregateError([])
    several.errors.push(several)
    expect([codeOf(one), codeOf(several)]).toEqual(['Error', 'AggregateError'])
  })
})
