/** Bytes of UTF-8 JSON (docs/ingest.md). Exactly at a limit is within it. */
export const CALL_BYTES = 32 * 1024
export const BATCH_BYTES = 500 * 1024
export const BATCH_CALLS = 2_500

/** Levels of objects and arrays in a call, its own among them. */
export const CALL_LEVELS = 64

/**
 * What the copies of a batch's own context and integrations, one for each call, may come to in all: so many bytes, and so many times the bytes
 * of the batch. Without it 272 bytes of gzip became 8 MB.
 */
export const SHARED_BYTES = 256 * 1024
export const SHARED_TIMES = 8

/** The rejected calls that an answer lists: so many, or one for so many bytes of the batch. Without it 61 bytes got 300 KB. */
export const REJECTED_LISTED = 100
export const REJECTED_LISTED_EACH = 128

/** Bytes that are kept of what is rejected, so that the record stays below Kafka's 1 MB. */
export const REJECTED_BYTES = 900_000

/** Bytes that a body in gzip may have above its limit on the way: what gzip adds to something that does not shrink. */
export const GZIP_EXTRA = 1024

/** A body in gzip may inflate to so many times its size, and to so many bytes whatever its size. JSON comes to 5 to 20 times. */
export const GZIP_TIMES = 100
export const GZIP_FREE = 64 * 1024

/**
 * Bytes of bodies from one network in which no write key of a source was found, and what each counts for at least. 500 KB take up to 14 ms:
 * half a percent of a core in the long run.
 */
export const STRANGER_BYTES = { perSecond: 256 * 1024, burst: 1024 * 1024 }
export const STRANGER_LEAST_BYTES = 1024

/** Bytes of a request's URL and headers together: a pixel that carries 32 KB as base64 is within it. */
export const HEADER_BYTES = 64 * 1024

/** Of a query that are read. Without it 46 KB of names, which anybody can send, took 6 ms. */
export const QUERY_FIELDS = 100

/**
 * Open connections of one process; more are refused at once. Headers that are not whole yet count nowhere else: at worst each
 * connection has 64 KB of them, which take 85 KB (measured), in all 430 MB.
 */
export const CONNECTIONS = 5_000

/**
 * Bytes that requests may hold; past it more get 503 at once. A body is held until it is judged, and REQUEST_BYTES until
 * the answer: about so much Node keeps of a request, however small it is (measured: 9 KB), and its URL and headers on top
 * of that. All connections may have one.
 */
export const HELD_BYTES = 96 * 1024 * 1024
export const REQUEST_BYTES = 8 * 1024
/** So much of HELD_BYTES is left to networks that hold no more than so much of it. */
export const HELD_LAST = 1 / 4
export const HELD_LITTLE = 1 / 8
/** What a name or a value of a header takes besides its characters. */
export const FIELD_BYTES = 32

/** How long clients may take, in milliseconds. */
export type Patience = {
  /** From the opening of a connection, or the first byte of a request, to the end of its headers. */
  headersMs: number
  /** The same, to the end of its body. */
  requestMs: number
  /** Between two requests: above the 60 s of common load balancers, so that it is they who close. */
  keepAliveMs: number
  /** Without taking a byte of the answers that wait for it; at most twice as long. */
  idleMs: number
  /** To write on what is not wanted, after its answer. */
  lingerMs: number
  /** At the end of the process; above the 10 s that Kafka may take. */
  closingMs: number
  /** How often the first two are looked at. */
  checkMs: number
}

export const PATIENCE: Patience = {
  headersMs: 15_000,
  requestMs: 60_000,
  keepAliveMs: 75_000,
  idleMs: 60_000,
  lingerMs: 10_000,
  closingMs: 10_500,
  checkMs: 1_000,
}
