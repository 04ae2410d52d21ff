/** What came of a POST, as its receiver's people would say it: docs/reference/codes.md, "Outcomes of a POST". */
type Said = {
  /** In one sentence. */
  says: string
  /** What to do about it. */
  todo: string
}

const NAMES: Said = {
  says: 'The name in the URL has no address.',
  todo: 'Check the host of the URL; it is to be written in full.',
}
const NAME_SERVER: Said = {
  says: 'The name server does not answer, or not with an address.',
  todo: 'Check the name servers of that domain.',
}
const BROKEN: Said = {
  says: 'The connection broke before an answer came.',
  todo: 'Is the receiver up? Look at proxies before it, and at their time limits.',
}
const NO_WAY: Said = {
  says: 'No way leads to that address.',
  todo: 'Check the network and firewall of the receiver.',
}
const OURS: Said = {
  says: 'Sluice itself could not open a connection: it lacks files, ports or memory, or may not connect.',
  todo: 'Tell whoever runs Sluice: nothing is wrong at the receiver.',
}
const ASKED_TO_WAIT: Said = {
  says: 'The receiver asks for fewer requests, or later ones.',
  todo: 'Nothing, if it was a burst. It is retried only if the destination has this status under "Also try again on".',
}

const REJECTED: Said = {
  says: 'The receiver did not accept the request.',
  todo: 'Check the URL, its headers and the receiver, then replay any dead letters.',
}
const REDIRECTS: Said = {
  says: 'The receiver redirects to another address. Redirects are not followed.',
  todo: 'Change the URL to the new address, then replay any dead letters.',
}

const TABLE: Record<string, Said> = {
  http_5xx: {
    says: 'The receiver answered that it has failed (a status of 500 or more).',
    todo: "Look into the receiver's own log at that time.",
  },
  http_408: ASKED_TO_WAIT,
  http_425: ASKED_TO_WAIT,
  http_429: ASKED_TO_WAIT,
  http_401: {
    says: 'The receiver does not accept the credentials.',
    todo: 'Check the token in the headers and the secret, then replay any dead letters.',
  },
  http_403: {
    says: 'The receiver does not allow this request.',
    todo: "Check the token in the headers and the receiver's rules, then replay any dead letters.",
  },
  http_404: {
    says: 'The receiver does not know this path.',
    todo: 'Check the path of the URL, then replay any dead letters.',
  },
  timeout: {
    says: 'No answer within the time limit (5 seconds unless set otherwise).',
    todo: 'Answer first and work afterwards. A firewall that drops packets looks the same.',
  },
  ECONNREFUSED: {
    says: 'Nobody listens at that address and port.',
    todo: 'Is the receiver up, and is the port in the URL right?',
  },
  ECONNRESET: BROKEN,
  EPIPE: BROKEN,
  connection_closed: {
    says: 'The receiver closed the connection without an answer.',
    todo: 'Look at proxies before the receiver; http:// on a port of TLS looks so too.',
  },
  EHOSTUNREACH: NO_WAY,
  ENETUNREACH: NO_WAY,
  protocol_error: {
    says: 'What answered does not speak HTTP as it should.',
    todo: 'Does the URL lead to a web server?',
  },
  tls_handshake: {
    says: 'No encrypted connection could be made.',
    todo: 'https:// on a port without TLS? Versions before TLS 1.2 are not spoken.',
  },
  ENOTFOUND: NAMES,
  ENODATA: NAMES,
  dns_timeout: NAME_SERVER,
  ESERVFAIL: NAME_SERVER,
  EREFUSED: NAME_SERVER,
  EMFILE: OURS,
  ENFILE: OURS,
  ENOBUFS: OURS,
  ENOMEM: OURS,
  EADDRNOTAVAIL: OURS,
  EACCES: OURS,
  EPERM: OURS,
  aborted: { says: 'It was ended from our side.', todo: 'Nothing: it is tried again.' },
  unknown_error: {
    says: 'It failed in a way that is not known.',
    todo: 'When it stays so, report it as a fault.',
  },
  tls_self_signed: {
    says: 'The certificate is self-signed, and so not trusted. No request was sent.',
    todo: 'Install a certificate of a public authority, or ask whoever runs Sluice to trust its root.',
  },
  tls_untrusted: {
    says: 'The certificate is of no trusted authority. No request was sent.',
    todo: 'Check that the whole chain is installed, or ask whoever runs Sluice to trust its root.',
  },
  tls_expired: { says: 'The certificate has expired. No request was sent.', todo: 'Renew the certificate.' },
  tls_not_yet_valid: {
    says: 'The certificate is not valid yet. No request was sent.',
    todo: "Check the certificate's dates, and the clocks.",
  },
  tls_wrong_host: {
    says: 'The certificate is for another host. No request was sent.',
    todo: 'Use the host that the certificate names, or get one for this host.',
  },
  tls_revoked: {
    says: 'The certificate has been revoked. No request was sent.',
    todo: 'Replace the certificate.',
  },
  address_forbidden: {
    says: 'The URL leads to an address that is not public. No request was sent.',
    todo: 'Use a public address, or ask whoever runs Sluice to allow this one.',
  },
  invalid_request: {
    says: 'The request cannot be made at all.',
    todo: "Check the destination's URL and headers.",
  },
  breaker_open: {
    says: 'Put off: the endpoint has failed several times in a row, and is only probed now and then.',
    todo: 'Nothing: it goes on as soon as the endpoint answers.',
  },
  queue_full: {
    says: 'Put off: more is waiting for the endpoint than it can take soon.',
    todo: 'A faster receiver; nothing, if it was a burst.',
  },
  destination_deleted: {
    says: 'The destination was deleted meanwhile.',
    todo: 'Nothing: it is not tried again.',
  },
  destination_disabled: {
    says: 'The destination was turned off meanwhile.',
    todo: 'Turn it on, and replay what came in, if it is wanted.',
  },
}

/** @param code of an attempt, from delivery/outcome.ts; those that are not here are the system's own names. */
export const saidOf = (code: string): Said =>
  TABLE[code] ??
  (/^http_3\d\d$/.test(code)
    ? REDIRECTS
    : /^http_4\d\d$/.test(code)
      ? REJECTED
      : {
          says: `The connection failed (${code}).`,
          todo: 'Is the receiver up, and can it be reached from here?',
        })

export const isKnown = (code: string): boolean => code in TABLE
