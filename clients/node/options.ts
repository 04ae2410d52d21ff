import type { OnFailure } from './report.ts'

/** Options of a client. Times are in milliseconds, sizes in bytes. Null and undefined count as not set. */
export type Options = {
  /** The write key of the source. */
  writeKey: string
  /**
   * The URL for batches; without a path, `/v1/batch`. Paths of single calls, such as `/v1/track`, reject batches.
   * Default `http://localhost:8080/v1/batch`.
   */
  endpoint?: string | null | undefined
  /** Send when this many calls are waiting; 1 sends each call alone. At most `maxQueue`. Default 20. */
  flushAt?: number | null | undefined
  /** Alias of `flushAt`. */
  size?: number | null | undefined
  /** Send waiting calls this long after the last batch, or after the first call. Default 5,000. */
  flushAfter?: number | null | undefined
  /** Alias of `flushAfter`. */
  interval?: number | null | undefined
  /**
   * Calls in memory, including those being sent or handled by `onFailure` and callbacks; beyond it, calls throw `queue_full`. Default 20,000.
   */
  maxQueue?: number | null | undefined
  /** The same in bytes of JSON. At least 32,768 (one call); default 33,554,432 (32 MB). */
  maxQueueBytes?: number | null | undefined
  /**
   * Retries of a batch, all within 45 minutes of the first attempt: the service recognizes duplicates for an hour by default, among the
   * last million calls of a partition. Default 25: the waits add up to 96 s on average and 193 s at most, plus what the service asks
   * for.
   */
  maxRetries?: number | null | undefined
  /** The longest wait before the first retry; doubles with each retry, up to 10 s. Default 100. */
  retryBase?: number | null | undefined
  /** For one attempt, until the end of the response. Default 15,000: the service needs up to 10 s. */
  requestTimeout?: number | null | undefined
  /** For close(); calls not sent by then are reported, and onFailure has one more second. Default 30,000. */
  closeTimeout?: number | null | undefined
  /** Compresses bodies above 1 KB. Default true. */
  gzip?: boolean | null | undefined
  /**
   * Agents instead of the library's own, by the endpoint's protocol, for example for a proxy; `http_proxy` and `https_proxy` are
   * ignored. close() does not close their connections.
   */
  agent?: { http?: object | null | undefined; https?: object | null | undefined } | null | undefined
  /** Checks each call and settles it as delivered, without sending it. Default false. */
  disable?: boolean | null | undefined
  /** On SIGTERM, closes the client and then ends the process, unless the program has its own listener. Default false. */
  closeOnSigterm?: boolean | null | undefined
  /**
   * Receives every queued call that could not be delivered. If neither it nor a listener of 'error' nor a callback gets a failed call, a
   * process warning reports it. flush() and close() wait for a promise that it returns, and the calls count towards `maxQueue` until it
   * settles. Do not await flush(), close() or room() in it.
   */
  onFailure?: OnFailure | null | undefined
}
