import type { Attempt } from '../schemas/attempt.ts'

/**
 * Of one POST (docs/reference/codes.md, "Outcomes of a POST"). `code`: from a bounded set that fits a metric's label.
 * `retryAfterMs`: as the receiver requested.
 */
export type Outcome =
  | { outcome: 'delivered'; status: number }
  /** 3xx or 4xx: final for the webhook, but not delivered. */
  | { outcome: 'rejected'; status: number; code: string }
  | { outcome: 'retry'; code: string; status?: number; retryAfterMs?: number }
  | { outcome: 'refused'; code: string }
  | { outcome: 'deferred'; code: string }

export const recorded = (outcome: Outcome) => ({
  outcome: outcome.outcome,
  status: 'status' in outcome ? (outcome.status ?? null) : null,
  code: 'code' in outcome ? outcome.code : null,
})

/** The inverse of `recorded`, for a POST or a deferral. */
export function outcomeOf({ outcome, status, code }: Pick<Attempt, 'outcome' | 'status' | 'code'>): Outcome {
  if (outcome === 'delivered') return { outcome, status: status ?? 0 }
  if (outcome === 'rejected') return { outcome, status: status ?? 0, code: code ?? '' }
  if (outcome === 'refused' || outcome === 'deferred') return { outcome, code: code ?? '' }
  return { outcome: 'retry', code: code ?? '', ...(status !== null && { status }) }
}

export type ResponseHead = { status: number; headers: Record<string, string | string[] | undefined> }

/** `retryOn`: statuses below 500. `now`: ms since 1970, for an HTTP-date. */
export type ResponseRules = { retryOn: readonly number[]; now: number }

/**
 * Only 2xx is delivered. 3xx and 4xx are rejections, unless `retryOn` lists them; redirects are never followed.
 * Statuses from 600 count as 5xx (RFC 9110, 15). A status below 200 is no answer to a POST.
 */
export function classifyResponse(
  { status, headers }: ResponseHead,
  { retryOn, now }: ResponseRules,
): Outcome {
  const retry = (code: string): Outcome => {
    const retryAfterMs = retryOn.length > 0 ? retryAfter(headers['retry-after'], now) : undefined
    return { outcome: 'retry', code, status, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
  if (status < 200) return retry('protocol_error')
  if (status >= 500) return retry('http_5xx')
  if (retryOn.includes(status)) return retry(`http_${status}`)
  if (status === 204 && announcesBody(headers)) return retry('protocol_error')
  return status < 300
    ? { outcome: 'delivered', status }
    : { outcome: 'rejected', status, code: `http_${status}` }
}

/** A 204 ends with its headers: a body would be read as the answer to the next POST. */
function announcesBody({
  'content-length': length = [],
  'transfer-encoding': coding,
}: ResponseHead['headers']) {
  return coding !== undefined || [length].flat().some((each) => !/^0+$/.test(each.trim()))
}

/** @param code see `codeOf`. Unknown ones are retried as `unknown_error`. */
export function classifyError(code: string): Outcome {
  const known = errorCodes.get(code)
  if (known) return { ...known }
  if (/^HPE_/.test(code)) return { outcome: 'retry', code: 'protocol_error' }
  // may be temporary: no common version, plain HTTP on the port, a broken record
  if (/^ERR_(SSL|OSSL|TLS)_/.test(code)) return { outcome: 'retry', code: 'tls_handshake' }
  return { outcome: 'retry', code: 'unknown_error' }
}

/** Causes may be circular. */
const MAX_CAUSES = 5

/** @returns an error's own code, its cause's code, or its name. Of several addresses, the most informative one. */
export function codeOf(error: unknown): string {
  let cause = error
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    if (cause.name === 'TimeoutError') return 'timeout'
    const code = directCode(cause)
    if (cause instanceof AggregateError) cause = mostTelling(cause.errors)
    else if (code === 'UND_ERR_SOCKET') return socketCode(cause.message)
    else if (code !== undefined) return code
    else cause = cause.cause
  }
  return error instanceof Error ? error.name : 'unknown_error'
}

const directCode = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** An address that refuses or resets is reachable. One without a route often means that this machine has no IPv6. */
function mostTelling(errors: readonly unknown[]): unknown {
  const unreachable = /^(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)$/
  return errors.find((error) => !unreachable.test(directCode(error) ?? '')) ?? errors[0]
}

/** undici has one code for closed connections and unacceptable answers (100, 101, unexpected ones). */
const socketCode = (message: string) =>
  /^bad (response|upgrade)$/.test(message) ? 'protocol_error' : 'connection_closed'

export type Failure = { outcome: 'retry' | 'refused'; code: string }

/**
 * Final: mostly untrusted certificates, all of Node's "X509 certificate error codes". UNSPECIFIED: any other verdict of
 * OpenSSL.
 */
const REFUSED: Record<string, string> = {
  tls_self_signed: 'DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN',
  tls_expired: 'CERT_HAS_EXPIRED',
  tls_not_yet_valid: 'CERT_NOT_YET_VALID',
  tls_wrong_host: 'ERR_TLS_CERT_ALTNAME_INVALID ERR_TLS_CERT_ALTNAME_FORMAT HOSTNAME_MISMATCH',
  tls_revoked: 'CERT_REVOKED',
  tls_untrusted: `UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE
    UNABLE_TO_DECRYPT_CERT_SIGNATURE UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY CERT_SIGNATURE_FAILURE CERT_CHAIN_TOO_LONG
    CERT_UNTRUSTED CERT_REJECTED ERROR_IN_CERT_NOT_BEFORE_FIELD ERROR_IN_CERT_NOT_AFTER_FIELD INVALID_CA
    INVALID_PURPOSE PATH_LENGTH_EXCEEDED UNABLE_TO_GET_CRL UNABLE_TO_DECRYPT_CRL_SIGNATURE CRL_SIGNATURE_FAILURE
    CRL_NOT_YET_VALID CRL_HAS_EXPIRED ERROR_IN_CRL_LAST_UPDATE_FIELD ERROR_IN_CRL_NEXT_UPDATE_FIELD UNSPECIFIED`,
  // the client never sends such a request
  invalid_request: `UND_ERR_INVALID_ARG UND_ERR_NOT_SUPPORTED UND_ERR_REQ_CONTENT_LENGTH_MISMATCH ERR_INVALID_URL
    ERR_INVALID_CHAR`,
  address_forbidden: 'address_forbidden',
}

/** ERR_ASSERTION: undici's assertions that a receiver can break, such as a status below 100. */
const RETRIED: Record<string, string> = {
  timeout: 'timeout UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT ETIMEDOUT',
  // c-ares: no name server answered
  dns_timeout: 'ETIMEOUT',
  protocol_error: `protocol_error HTTPParserError UND_ERR_HEADERS_OVERFLOW UND_ERR_RES_CONTENT_LENGTH_MISMATCH
    UND_ERR_RES_EXCEEDED_MAX_SIZE ERR_ASSERTION`,
  connection_closed: 'connection_closed UND_ERR_SOCKET UND_ERR_INFO',
  aborted: 'UND_ERR_ABORT UND_ERR_ABORTED UND_ERR_DESTROYED UND_ERR_CLOSED AbortError',
  tls_handshake: 'EPROTO OUT_OF_MEM',
}

/** Codes of the system and of c-ares that operators know. */
const PASSED_ON = `ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ENOTCONN ESHUTDOWN
  EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENONET EADDRNOTAVAIL EAFNOSUPPORT EACCES EPERM EINVAL
  EMFILE ENFILE ENOBUFS ENOMEM
  ENOTFOUND EAI_AGAIN EAI_FAIL EAI_MEMORY EAI_NODATA EAI_NONAME ENODATA ENONAME ESERVFAIL EREFUSED EFORMERR ENOTIMP
  EBADNAME EBADRESP EBADQUERY EBADFAMILY ECANCELLED`

const words = (text: string) => text.split(/\s+/)
const named = (outcome: Failure['outcome'], table: Record<string, string>): [string, Failure][] =>
  Object.entries(table).flatMap(([code, names]) =>
    words(names).map((name): [string, Failure] => [name, { outcome, code }]),
  )

export const errorCodes: ReadonlyMap<string, Failure> = new Map([
  ...named('refused', REFUSED),
  ...named('retry', RETRIED),
  ...words(PASSED_ON).map((code): [string, Failure] => [code, { outcome: 'retry', code }]),
])

/** No ladder waits longer than a day. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1_000

const TIME = String.raw`\d\d:\d\d:\d\d`
/** The forms that recipients must accept (RFC 9110, 5.6.7). ASCTIME has no zone: it is GMT too. */
const HTTP_DATE = new RegExp(
  String.raw`^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} ${TIME} GMT$|^[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d ${TIME} GMT$`,
)
const ASCTIME = new RegExp(String.raw`^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d ${TIME} \d{4}$`)

/**
 * Seconds, or an HTTP-date (RFC 9110, 10.2.3).
 * @param now ms since 1970.
 * @returns ms from `now`, 0 to a day; the longest of several; undefined when none can be read.
 */
export function retryAfter(value: string | readonly string[] | undefined, now: number): number | undefined {
  const delays = [value ?? []].flat().flatMap((each) => delayOf(each.trim(), now) ?? [])
  return delays.length > 0 ? Math.max(...delays) : undefined
}

function delayOf(text: string, now: number): number | undefined {
  if (/^\d+$/.test(text)) return bounded(Number(text) * 1_000)
  const date = ASCTIME.test(text) ? `${text} GMT` : HTTP_DATE.test(text) ? text : undefined
  const at = date === undefined ? Number.NaN : Date.parse(date)
  return Number.isNaN(at) ? undefined : bounded(at - now)
}

const bounded = (delayMs: number) => Math.min(Math.max(delayMs, 0), MAX_RETRY_AFTER_MS)
