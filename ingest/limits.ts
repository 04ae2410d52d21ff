/** Bytes of UTF-8 JSON (docs/reference/ingest.md). Exactly at a limit is within it. */
export const CALL_BYTES = 32 * 1024
export const BATCH_BYTES = 500 * 1024
export const BATCH_CALLS = 2_500

export const CALL_LEVELS = 64

/**
 * Limit for the properties, traits, contexts and integrations of a batch's events: this many bytes plus a multiple of
 * the batch's bytes. The batch's own context and integrations are copied into each event, and numbers can grow when they
 * are printed. Without it, 272 bytes of gzip became 8 MB.
 */
export const MADE_BYTES = 256 * 1024
export const MADE_TIMES = 8

/**
 * An answer lists REJECTED_LISTED rejected calls, or one per REJECTED_LISTED_EACH bytes of the batch. Without the limit,
 * 61 bytes got 300 KB.
 */
export const REJECTED_LISTED = 100
export const REJECTED_LISTED_EACH = 128

/** How much of a rejected call is stored, so that the record stays below Kafka's 1 MB. */
export const REJECTED_BYTES = 900_000

/**
 * Chunks of one body. A chunk takes a microsecond, however small: without this limit, 500,000 one-byte chunks delayed
 * all other calls by half a second. A client that writes a batch call by call stays below it.
 */
export const BODY_CHUNKS = 10_000
/**
 * The chunks that a discarded body may have: DISCARDED_CHUNKS, plus one for each DISCARDED_CHUNK_BYTES, so that a batch
 * that is written call by call passes. Without the limit, 60 KB of an unknown sender took 17 ms.
 */
export const DISCARDED_CHUNKS = 250
export const DISCARDED_CHUNK_BYTES = 128
/** The cost of a chunk, in bytes of cheap JSON. */
export const CHUNK_COST = 64

/** Extra bytes for a gzip body, as gzip makes incompressible data larger. */
export const GZIP_EXTRA = 1024

/** A gzip body may inflate to this multiple of its size, and always to this many bytes. JSON inflates 5 to 20 times. */
export const GZIP_TIMES = 100
export const GZIP_FREE = 64 * 1024
/** The cost of a byte of gzip, in bytes of cheap JSON. 500 KB of empty blocks take 40 ms, and inflate to nothing. */
export const GZIP_COST = 3

/**
 * Bytes of bodies without a valid write key per network, the minimum that each body counts for, and what each quote in
 * it adds: 500 KB take up to 14 ms to parse, but 50 ms with 55,000 different keys. In the long run, these bodies take
 * half a percent of a core.
 */
export const ANONYMOUS_BYTES = { perSecond: 256 * 1024, burst: 1024 * 1024 }
export const MIN_ANONYMOUS_BYTES = 1024
export const QUOTE_BYTES = 24

/** Limit for a request's URL and headers together. A pixel with 32 KB in base64 fits. */
export const HEADER_BYTES = 64 * 1024

/** A longer path is no route. Without the limit, decoding 60 KB of `%25`, which anyone can send, took 3 ms. */
export const PATH_CHARS = 1_024

/** Further fields of a query are ignored. Without the limit, 46 KB of names, which anyone can send, took 6 ms. */
export const QUERY_FIELDS = 100

/**
 * Open connections; more are refused at once. Also bounds incomplete headers: at worst 64 KB each, which take 85 KB
 * (measured), 430 MB in all.
 */
export const CONNECTIONS = 5_000

/**
 * Memory that all requests may hold; beyond it new ones get 503. A body counts until its calls are decided on.
 * REQUEST_BYTES (measured: Node keeps 9 KB of the smallest request), the URL and the headers count until the answer.
 */
export const HELD_BYTES = 96 * 1024 * 1024
export const REQUEST_BYTES = 8 * 1024
/** This share of HELD_BYTES is reserved for networks that hold at most SMALL_HOLDER of it. */
export const HELD_RESERVED = 1 / 4
export const SMALL_HOLDER = 1 / 8
/** What a header name or value takes besides its characters. */
export const FIELD_BYTES = 32

/**
 * While more than `all` requests wait for answers, connections on which more than `each` wait are closed. A waiting request
 * takes 8 KB of memory, and a client can send 2,500 in 64 KB and read no answer: without the limit, 13 MB on 200
 * connections took 2 GB.
 */
export const WAITING = { each: 8, all: 12_288 }

/**
 * All answers that clients have not read yet. Beyond it, a client that reads none loses its connection. Without the limit,
 * 5 KB of gzip got 240 KB, and 300 connections with 40 such requests each took 1 GB.
 */
export const UNREAD_BYTES = 64 * 1024 * 1024

export type Timeouts = {
  /** From the opening of a connection, or the first byte of a later request, to the end of the headers. */
  headersMs: number
  /** The same, to the end of its body. */
  requestMs: number
  /** Between two requests: above the 60 s of common load balancers, so that they close first. */
  keepAliveMs: number
  /** A client that reads none of its waiting answers for this long, and at most for twice as long, is disconnected. */
  idleMs: number
  /** For sending the rest of an unwanted body, after the answer. */
  lingerMs: number
  /** At the end of the process: above the 10 s that Kafka may take. */
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
