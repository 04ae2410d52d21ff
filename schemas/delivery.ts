// Written by `npm run schemas` from delivery.avsc: change that, not this.

/** One POST of an earlier attempt, in short. */
export type PastAttempt = {
  /** Number of the attempt, from 1. */
  attempt: number
  /** Position of the webhook in the destination, from 0. */
  urlIndex: number
  /** When the POST began. */
  startedAt: number
  /** How long it took. */
  durationMs: number
  /** delivered, rejected, retry, refused, cancelled or deferred. */
  outcome: string
  /** Status of the response, when there was one. */
  status: null | number
  /** What went wrong, such as http_5xx, http_404, timeout or ECONNREFUSED. */
  code: null | string
}

/** One event for one destination, in deliveries, its retry topics and deliveries.dead. Key of the record: destinationId/userKey. */
export type Delivery = {
  /** First 128 bits of SHA-256 over destinationId, sourceId and messageId joined by NUL bytes, in hex: the same for the same event, however often it is routed. */
  deliveryId: string
  /** Id of the call. */
  messageId: string
  /** Source that the call came from. */
  sourceId: string
  /** Destination that it goes to. Its URLs, headers and secret are looked up at each attempt. */
  destinationId: string
  /** Type of the event: identify, track, page, screen, group, alias or delete. */
  type: string
  /** The JSON text that every attempt posts, byte for byte. */
  body: string
  /** When the router made this delivery. */
  routedAt: number
  /** When the retry window began. Null before the first attempt. */
  firstAttemptAt: null | number
  /** Attempts made so far: rounds of POSTs, deferrals not counted. */
  attempt: number
  /** Deferrals in a row since the last attempt. */
  deferrals: number
  /** URLs that are settled and get no more POSTs: they refused for good (TLS, forbidden address), rejected the event (3xx, 4xx), or have it already. */
  refusedUrls: string[]
  /** For each of refusedUrls, its position in the destination, from 0. A destination may have the same URL twice, with different headers. For entries that version 0.1 wrote it is -1, or missing at the end. */
  refusedIndexes: number[]
  /** True when one URL has the event already. The others still get their first attempt, and its failure is final. */
  delivered: boolean
  /** True when a replay or backfill made it. */
  replay: boolean
  /** Every POST so far. */
  history: PastAttempt[]
  /** Set in deliveries.dead: window_expired, attempts_exhausted, rejected or refused. */
  deadReason: null | string
  /** Set in deliveries.dead: when it was given up. */
  deadAt: null | number
}
