export type Failure = { outcome: 'retry' | 'refused'; code: string }

/**
 * A certificate that must not be trusted: an error is raised, and no request was sent (docs/receivers.md). All of Node's
 * "X509 certificate error codes"; UNSPECIFIED is its name for a verdict of OpenSSL that is not among them (a weak key, say).
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
  // the client sends such a request neither today nor later
  invalid_request: `UND_ERR_INVALID_ARG UND_ERR_NOT_SUPPORTED UND_ERR_REQ_CONTENT_LENGTH_MISMATCH ERR_INVALID_URL
    ERR_INVALID_CHAR`,
  address_forbidden: 'address_forbidden',
}

/** May succeed later. ERR_ASSERTION: undici asserts what a receiver can break, such as a status below 100. */
const RETRIED: Record<string, string> = {
  timeout: 'timeout UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT ETIMEDOUT',
  // c-ares's: no name server answered
  dns_timeout: 'ETIMEOUT',
  protocol_error: `protocol_error HTTPParserError UND_ERR_HEADERS_OVERFLOW UND_ERR_RES_CONTENT_LENGTH_MISMATCH
    UND_ERR_RES_EXCEEDED_MAX_SIZE ERR_ASSERTION`,
  connection_closed: 'connection_closed UND_ERR_SOCKET UND_ERR_INFO',
  aborted: 'UND_ERR_ABORT UND_ERR_ABORTED UND_ERR_DESTROYED UND_ERR_CLOSED AbortError',
  tls_handshake: 'EPROTO OUT_OF_MEM',
}

/** The system's and c-ares's own names, known to every operator: connections, routes, this machine's limits, name look-ups. */
const KEPT = `ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ENOTCONN ESHUTDOWN
  EHOSTUNREACH EHOSTDOWN ENETUNREACH ENETDOWN ENONET EADDRNOTAVAIL EAFNOSUPPORT EACCES EPERM EINVAL
  EMFILE ENFILE ENOBUFS ENOMEM
  ENOTFOUND EAI_AGAIN EAI_FAIL EAI_MEMORY EAI_NODATA EAI_NONAME ENODATA ENONAME ESERVFAIL EREFUSED EFORMERR ENOTIMP
  EBADNAME EBADRESP EBADQUERY EBADFAMILY ECANCELLED`

const words = (text: string) => text.split(/\s+/)
const named = (outcome: Failure['outcome'], table: Record<string, string>): [string, Failure][] =>
  Object.entries(table).flatMap(([code, theirs]) =>
    words(theirs).map((their): [string, Failure] => [their, { outcome, code }]),
  )

/** What undici 7, Node and OpenSSL call a failure, and what it is to a delivery. */
export const errorCodes: ReadonlyMap<string, Failure> = new Map([
  ...named('refused', REFUSED),
  ...named('retry', RETRIED),
  ...words(KEPT).map((code): [string, Failure] => [code, { outcome: 'retry', code }]),
])
