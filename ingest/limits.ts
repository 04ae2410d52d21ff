/** Bytes of UTF-8 JSON, inclusive (docs/reference/ingest.md). */
export const CALL_BYTES = 32 * 1024
export const BATCH_BYTES = 500 * 1024
export const BATCH_CALLS = 2_500

export const CALL_LEVELS = 64

/**
 * Bytes that a batch may write, in events and rejected calls: MADE_BYTES plus MADE_TIMES its size. A gzip batch counts
 * for at most MADE_GZIP_TIMES its size as sent, or spaces would raise its limit. docs/security.md has the attacks that
 * these limits stop.
 */
export const MADE_BYTES = 256 * 1024
export const MADE_TIMES = 8
export const MADE_GZIP_TIMES = 20
/** Of each event or rejected call: times, Kafka's framing, and a rejection's code and message. */
export const MADE_EACH = 100
/** Of each rejected call, besides its code and message. */
export const REJECTED_EACH = 30

/**
 * An answer lists REJECTED_LISTED rejected calls, or one per REJECTED_LISTED_EACH bytes of a larger batch. Gzip counts at
 * most MADE_GZIP_TIMES.
 */
export const REJECTED_LISTED = 100
export const REJECTED_LISTED_EACH = 128

/** Bytes of a rejected call that are stored. Its record stays below Kafka's 1 MB. */
export const REJECTED_BYTES = 900_000

/** Chunks of one body. */
export const BODY_CHUNKS = 10_000
/** In bytes of cheap JSON. */
export const CHUNK_COST = 64

/** Gzip makes incompressible data larger. */
export const GZIP_EXTRA = 1024

/** A gzip body may inflate to GZIP_TIMES its size, and always to GZIP_FREE bytes. JSON inflates 5 to 20 times. */
export const GZIP_TIMES = 100
export const GZIP_FREE = 64 * 1024
/** In bytes of cheap JSON. Gzip may inflate to nothing, and takes time all the same. */
export const GZIP_COST = 3

/**
 * Bytes of bodies without a valid write key, per network. Each body counts at least MIN_ANONYMOUS_BYTES, and each quote
 * adds QUOTE_BYTES: 500 KB take 14 ms to parse, but 50 ms with 55,000 different keys.
 */
export const ANONYMOUS_BYTES = { perSecond: 256 * 1024, burst: 1024 * 1024 }
export const MIN_ANONYMOUS_BYTES = 1024
export const QUOTE_BYTES = 24

/** URL and headers together. A pixel with 32 KB in base64 fits. */
export const HEADER_BYTES = 64 * 1024

/** A longer path is no route. */
export const PATH_CHARS = 1_024

/** A query field with a longer name is ignored. */
export const FIELD_NAME_CHARS = 1_024

/** Open connections; more are refused. At worst, each has 64 KB of incomplete headers, which take 85 KB. */
export const CONNECTIONS = 5_000

/**
 * Memory of all requests; beyond it new ones get 503. A body counts until its calls are decided on. Its URL, headers
 * and REQUEST_BYTES (Node keeps 9 KB) count until the answer.
 */
export const HELD_BYTES = 96 * 1024 * 1024
export const REQUEST_BYTES = 8 * 1024
/** For each header name and value, besides its characters. */
export const FIELD_BYTES = 32

/**
 * While more than `all` requests wait for answers, connections with more than `each` are closed. A request takes 8 KB.
 */
export const WAITING = { each: 8, all: 12_288 }

/** Answers that clients have not read. Beyond it, clients that read none lose their connections. */
export const UNREAD_BYTES = 64 * 1024 * 1024

export type Timeouts = {
  /**
   * From a request's first byte to the end of the headers. A new connection may be unused for this long and then for
   * `keepAliveMs`.
   */
  headersMs: number
  /** The same, to the end of the body. */
  requestMs: number
  /** Between requests. Above the 60 s of common load balancers, so they close first. */
  keepAliveMs: number
  /** A client that reads no answer is disconnected after this time, at most after twice as long. */
  idleMs: number
  /** To send the rest of an unwanted body. */
  lingerMs: number
  /** Above the 10 s that Kafka may take. */
  closingMs: number
  checkMs: number
}

export const TIMEOUTS: Timeouts = {
  headersMs: 15_000,
  requestMs: 60_000,
  keepAliveMs: 75_000,
  idleMs: 60_000,
  lingerMs: 10_000,
  closingMs: 10_500,
  checkMs: 1_000,
}
