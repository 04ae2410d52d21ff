import { describe, expect, test } from 'vitest'
import { classifyError, classifyStatus, codeOf } from '../../deliverer/classify.ts'

describe('a response', () => {
  test.each([200, 204, 301, 302, 304, 400, 404, 410, 429, 499])('%i is a delivery', (status) => {
    expect(classifyStatus(status)).toEqual({ outcome: 'delivered', status })
  })
  test.each([500, 502, 503, 599])('%i is retried', (status) => {
    expect(classifyStatus(status)).toEqual({ outcome: 'retry', code: 'http_5xx', status })
  })
})

describe('no response', () => {
  test.each([
    ['timeout', 'retry', 'timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'retry', 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'retry', 'timeout'],
    ['ETIMEDOUT', 'retry', 'timeout'],
    ['ECONNREFUSED', 'retry', 'ECONNREFUSED'],
    ['ECONNRESET', 'retry', 'ECONNRESET'],
    ['ENOTFOUND', 'retry', 'ENOTFOUND'],
    ['EHOSTUNREACH', 'retry', 'EHOSTUNREACH'],
    ['HPE_INVALID_CONSTANT', 'retry', 'protocol_error'],
    ['HTTPParserError', 'retry', 'protocol_error'],
    ['UND_ERR_HEADERS_OVERFLOW', 'retry', 'protocol_error'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'refused', 'tls_self_signed'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'refused', 'tls_self_signed'],
    ['CERT_HAS_EXPIRED', 'refused', 'tls_expired'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'refused', 'tls_wrong_host'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'refused', 'tls_untrusted'],
    ['CERT_SIGNATURE_FAILURE', 'refused', 'tls_untrusted'],
    ['address_forbidden', 'refused', 'address_forbidden'],
  ])('%s is %s %s', (code, outcome, named) => {
    expect(classifyError(code)).toEqual({ outcome, code: named })
  })
})

test('an error is named by its own code, else by that of its cause, else by its name', () => {
  const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' })
  expect(codeOf(reset)).toBe('ECONNRESET')
  expect(codeOf(new Error('fetch failed', { cause: reset }))).toBe('ECONNRESET')
  expect(codeOf(Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }))).toBe(
    'connection_closed',
  )
  expect(codeOf(new DOMException('late', 'TimeoutError'))).toBe('timeout')
  expect(codeOf(new RangeError('x'))).toBe('RangeError')
  expect(codeOf('thrown text')).toBe('unknown_error')
})
