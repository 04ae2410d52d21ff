/**
 * What came of one POST, as a closed union (design: delivery, "Outcome of one POST"; seed, "Errors").
 * `code` says why when it was not delivered.
 */
export type Outcome =
  | { outcome: 'delivered'; status: number }
  | { outcome: 'retry'; code: string; status?: number }
  | { outcome: 'refused'; code: string }

/** Any response is a delivery but a 5xx: also a 4xx, which the receiver meant, and a redirect, which is never followed. */
export const classifyStatus = (status: number): Outcome =>
  status >= 500 ? { outcome: 'retry', code: 'http_5xx', status } : { outcome: 'delivered', status }

/** Error codes of Node and OpenSSL for a certificate that must not be trusted: no request was sent, and none will be. */
const TLS: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'tls_self_signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'tls_self_signed',
  CERT_HAS_EXPIRED: 'tls_expired',
  CERT_NOT_YET_VALID: 'tls_not_yet_valid',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls_wrong_host',
  HOSTNAME_MISMATCH: 'tls_wrong_host',
  CERT_REVOKED: 'tls_revoked',
}
const TLS_UNTRUSTED = /^(UNABLE_TO_|CERT_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)/

/** The client does not send such a request at all, today or later. */
const NEVER_SENT = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED', 'ERR_INVALID_URL'])

const TIMEOUTS = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
])

/** @param code what the client calls the failure: see `codeOf`. */
export function classifyError(code: string): Outcome {
  const tls = TLS[code] ?? (TLS_UNTRUSTED.test(code) ? 'tls_untrusted' : undefined)
  if (tls) return { outcome: 'refused', code: tls }
  if (NEVER_SENT.has(code)) return { outcome: 'refused', code: 'invalid_request' }
  if (code === 'address_forbidden') return { outcome: 'refused', code }
  if (code === 'timeout' || TIMEOUTS.has(code)) return { outcome: 'retry', code: 'timeout' }
  if (/^HPE_|^HTTPParserError$|^UND_ERR_HEADERS_OVERFLOW$/.test(code))
    return { outcome: 'retry', code: 'protocol_error' }
  return { outcome: 'retry', code }
}

/** @returns the code that names an error: its own, its cause's, or its name. */
export function codeOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'TimeoutError') return 'timeout'
    if ('code' in cause && typeof cause.code === 'string' && cause.code !== 'UND_ERR_SOCKET')
      return cause.code
    if ('code' in cause && cause.code === 'UND_ERR_SOCKET' && !cause.cause) return 'connection_closed'
  }
  return error instanceof Error ? error.name : 'unknown_error'
}
