import { errorCodes } from './error-codes.ts'
import { retryAfter } from './retry-after.ts'

/**
 * What came of one POST, as a closed union (docs/receivers.md, "What came of a POST"). `code` says why when
 * it was not delivered: one of a bounded set, fit for a metric's label. `retryAfterMs`: the receiver asked for this delay.
 */
export type Outcome =
  | { outcome: 'delivered'; status: number }
  /** The receiver answered 3xx or 4xx. This is final for the URL and does not count as delivered. */
  | { outcome: 'rejected'; status: number; code: string }
  | { outcome: 'retry'; code: string; status?: number; retryAfterMs?: number }
  | { outcome: 'refused'; code: string }
  /** Passed over: no POST was made. */
  | { outcome: 'deferred'; code: string }

/** An outcome as records have it: in topic `attempts`, and in a delivery's history. */
export const recorded = (outcome: Outcome) => ({
  outcome: outcome.outcome,
  status: 'status' in outcome ? (outcome.status ?? null) : null,
  code: 'code' in outcome ? outcome.code : null,
})

/** Head of a response: headers as undici gives them, names in lower case. */
export type ResponseHead = { status: number; headers: Record<string, string | string[] | undefined> }

/** `retryOn`: statuses below 500 that the destination wants retried. `now`: ms since 1970, for an HTTP-date. */
export type ResponseRules = { retryOn: readonly number[]; now: number }

/**
 * Only 2xx counts as delivered. 3xx and 4xx are rejections: they are not retried unless `retryOn` names them, and redirects
 * are never followed. Statuses from 600 count as 5xx (RFC 9110, 15). A status below 200 is no answer to a POST.
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

/** A 204 ends with its headers: what follows would be read as the answer to the next POST on the connection. */
function announcesBody({
  'content-length': length = [],
  'transfer-encoding': coding,
}: ResponseHead['headers']) {
  return coding !== undefined || [length].flat().some((each) => !/^0+$/.test(each.trim()))
}

/** @param code what the client calls the failure: see `codeOf`. What no table knows is retried as `unknown_error`. */
export function classifyError(code: string): Outcome {
  const known = errorCodes.get(code)
  if (known) return { ...known }
  if (/^HPE_/.test(code)) return { outcome: 'retry', code: 'protocol_error' }
  // no version in common, plain HTTP on the port, a broken record: nothing says that it stays so
  if (/^ERR_(SSL|OSSL|TLS)_/.test(code)) return { outcome: 'retry', code: 'tls_handshake' }
  return { outcome: 'retry', code: 'unknown_error' }
}

/** How deep causes are followed: they may go in a circle. */
const MAX_CAUSES = 5

/** @returns the code that names an error: its own, its cause's, or its name. Of several addresses tried, the most telling one's. */
export function codeOf(error: unknown): string {
  let cause = error
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    if (cause.name === 'TimeoutError') return 'timeout'
    const code = ownCode(cause)
    if (cause instanceof AggregateError) cause = mostTelling(cause.errors)
    else if (code === 'UND_ERR_SOCKET') return socketCode(cause.message)
    else if (code !== undefined) return code
    else cause = cause.cause
  }
  return error instanceof Error ? error.name : 'unknown_error'
}

const ownCode = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Who refuses or resets is there; an address without a route often only means that this machine has no IPv6. */
function mostTelling(errors: readonly unknown[]): unknown {
  const unreachable = /^(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)$/
  return errors.find((error) => !unreachable.test(ownCode(error) ?? '')) ?? errors[0]
}

/** undici has one code for a connection that ended and for an answer that it never takes (100, 101, one that nobody asked for). */
const socketCode = (message: string) =>
  /^bad (response|upgrade)$/.test(message) ? 'protocol_error' : 'connection_closed'
