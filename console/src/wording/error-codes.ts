import { LIMITS } from './limits.ts'

/** For the people who run the receiver. docs/reference/codes.md lists the codes. */
type ErrorText = {
  meaning: string
  advice: string
}

const UNRESOLVED: ErrorText = {
  meaning: 'The host name in the URL has no address.',
  advice: 'Check the host in the URL. It must be fully qualified.',
}
const NAME_SERVER: ErrorText = {
  meaning: 'The name servers did not answer, or answered without an address.',
  advice: 'Check the name servers of the domain.',
}
const BROKEN: ErrorText = {
  meaning: 'The connection broke before an answer arrived.',
  advice: 'Check that the receiver is up, and check the proxies in front of it and their timeouts.',
}
const UNREACHABLE: ErrorText = {
  meaning: 'No network route leads to the address.',
  advice: 'Check the network and firewall of the receiver.',
}
const LOCAL: ErrorText = {
  meaning:
    'Sluice could not open a connection: it has run out of files, ports or memory, or is not allowed to connect.',
  advice: 'Contact your Sluice operator. The receiver is not at fault.',
}
const SLOW_DOWN: ErrorText = {
  meaning: 'The receiver asked for fewer requests, or for later ones.',
  advice:
    'Nothing, if it was a burst. The delivery is retried only if the destination lists this status under “Also retry on”.',
}

const REJECTED: ErrorText = {
  meaning: 'The receiver did not accept the request.',
  advice: 'Check the URL, its headers and the receiver, then replay any dead letters.',
}
const REDIRECT: ErrorText = {
  meaning: 'The receiver redirects to another address. Sluice does not follow redirects.',
  advice: 'Change the URL to the new address, then replay any dead letters.',
}

const TEXTS: Record<string, ErrorText> = {
  http_5xx: {
    meaning: 'The receiver reported a server error.',
    advice: 'Check the receiver’s log for that time.',
  },
  http_408: SLOW_DOWN,
  http_425: SLOW_DOWN,
  http_429: SLOW_DOWN,
  http_401: {
    meaning: 'The receiver did not accept the credentials.',
    advice: 'Check the token in the headers and the secret, then replay any dead letters.',
  },
  http_403: {
    meaning: 'The receiver does not allow this request.',
    advice: 'Check the token in the headers and the receiver’s rules, then replay any dead letters.',
  },
  http_404: {
    meaning: 'The receiver does not know this path.',
    advice: 'Check the path of the URL, then replay any dead letters.',
  },
  timeout: {
    meaning: `The receiver did not answer within ${LIMITS.timeout}.`,
    advice: 'Answer first and do the work afterwards. A firewall that drops packets has the same effect.',
  },
  ECONNREFUSED: {
    meaning: 'Nothing listens at that address and port.',
    advice: 'Check that the receiver is up and that the port in the URL is right.',
  },
  ECONNRESET: BROKEN,
  EPIPE: BROKEN,
  connection_closed: {
    meaning: 'The receiver closed the connection without an answer.',
    advice: 'Check the proxies in front of the receiver. An http:// URL to a TLS port has the same effect.',
  },
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  protocol_error: {
    meaning: 'The answer is not valid HTTP.',
    advice: 'Check that the URL leads to a web server.',
  },
  tls_handshake: {
    meaning: 'The TLS handshake failed.',
    advice:
      'Check that the port speaks TLS 1.2 or later. An https:// URL to a plain HTTP port fails as well.',
  },
  ENOTFOUND: UNRESOLVED,
  ENODATA: UNRESOLVED,
  dns_timeout: NAME_SERVER,
  ESERVFAIL: NAME_SERVER,
  EREFUSED: NAME_SERVER,
  EMFILE: LOCAL,
  ENFILE: LOCAL,
  ENOBUFS: LOCAL,
  ENOMEM: LOCAL,
  EADDRNOTAVAIL: LOCAL,
  EACCES: LOCAL,
  EPERM: LOCAL,
  aborted: { meaning: 'Sluice ended the request.', advice: 'Nothing: the delivery is retried.' },
  unknown_error: {
    meaning: 'The request failed for an unknown reason.',
    advice: 'If it keeps failing, report a bug.',
  },
  tls_self_signed: {
    meaning: 'The certificate is self-signed, so it is not trusted. No request was sent.',
    advice: 'Install a certificate from a public authority, or ask your Sluice operator to trust its root.',
  },
  tls_untrusted: {
    meaning: 'The certificate is not from a trusted authority. No request was sent.',
    advice: 'Check that the full chain is installed, or ask your Sluice operator to trust its root.',
  },
  tls_expired: {
    meaning: 'The certificate has expired. No request was sent.',
    advice: 'Renew the certificate.',
  },
  tls_not_yet_valid: {
    meaning: 'The certificate is not valid yet. No request was sent.',
    advice: 'Check the dates of the certificate, and the clocks.',
  },
  tls_wrong_host: {
    meaning: 'The certificate is for another host. No request was sent.',
    advice: 'Use the host that the certificate names, or get a certificate for this host.',
  },
  tls_revoked: {
    meaning: 'The certificate has been revoked. No request was sent.',
    advice: 'Replace the certificate.',
  },
  address_forbidden: {
    meaning: 'The URL leads to an address that is not public. No request was sent.',
    advice: 'Use a public address, or ask your Sluice operator to allow this one.',
  },
  invalid_request: {
    meaning: 'The request cannot be made.',
    advice: 'Check the URL and headers of the destination.',
  },
  breaker_open: {
    meaning: 'Deferred: the webhook has failed several times in a row and is only probed occasionally.',
    advice: 'Nothing: deliveries continue as soon as the webhook answers.',
  },
  queue_full: {
    meaning: 'Deferred: more deliveries are waiting than the webhook can take soon.',
    advice: 'Nothing, if it was a burst. Otherwise the receiver must answer faster.',
  },
  destination_deleted: {
    meaning: 'The destination was deleted.',
    advice: 'Nothing: the delivery is not retried.',
  },
  destination_paused: {
    meaning: 'Held: the destination was paused.',
    advice: 'Resume it. The delivery is then sent within a quarter of the length of the pause.',
  },
  destination_disabled: {
    meaning: 'The destination was turned off.',
    advice: 'Turn it on. To send the missed events, replay them.',
  },
}

/** @param code from delivery/outcome.ts. Other codes are names of system errors. */
export function errorText(code: string): ErrorText {
  if (TEXTS[code]) return TEXTS[code]
  if (/^http_3\d\d$/.test(code)) return REDIRECT
  if (/^http_4\d\d$/.test(code)) return REJECTED
  return {
    meaning: `The connection failed (${code}).`,
    advice: 'Check that the receiver is up and reachable from Sluice.',
  }
}

export const hasErrorText = (code: string): boolean => code in TEXTS
