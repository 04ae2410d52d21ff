import type { OnFailure } from './report.ts'

/** Times are in milliseconds, sizes in bytes. Null and undefined count as not set. */
export type Options = {
  /** The write key of the source. */
  writeKey: string
  /**
   * The URL for batches; `/v1/track` and the like reject them. Without a path, `/v1/batch`. Default
   * `http://localhost:8080/v1/batch`.
   */
  endpoint?: string | null | undefined
  /** Send when this many calls wait; 1 sends each call alone. At most `maxQueue`. Default 20. */
  flushAt?: number | null | undefined
  /** Alias of `flushAt`. */
  size?: number | null | undefined
  /** Send waiting calls this long after the last batch or the first call. Default 5,000. */
  flushAfter?: number | null | undefined
  /** Alias of `flushAfter`. */
  interval?: number | null | undefined
  /**
   * Calls in memory, including those in flight or held by callbacks or `onFailure`. More throw `queue_full`. Default
   * 20,000.
   */
  maxQueue?: number | null | undefined
  /** The same in bytes of JSON. At least 32,768, one call; default 33,554,432 (32 MB). */
  maxQueueBytes?: number | null | undefined
  /**
   * Retries of a batch, all within 45 minutes. Default 25: the waits add up to 96 s on average, at most 193 s, plus
   * what the service asks for.
   */
  maxRetries?: number | null | undefined
  /** The longest wait before the first retry; doubles with each retry, up to 10 s. Default 100. */
  retryBase?: number | null | undefined
  /** For one attempt and its whole response. Default 15,000: the service needs up to 10 s. */
  requestTimeout?: number | null | undefined
  /** For close(); calls not sent by then are reported, with one more second for onFailure. Default 30,000. */
  closeTimeout?: number | null | undefined
  /** Compresses bodies above 1 KB. Default true. */
  gzip?: boolean | null | undefined
  /**
   * Agents by protocol, for example for a proxy; `http_proxy` and `https_proxy` are ignored. close() does not close
   * their connections.
   */
  agent?: { http?: object | null | undefined; https?: object | null | undefined } | null | undefined
  /** Checks calls and settles them as delivered, without sending. Default false. */
  disable?: boolean | null | undefined
  /** On SIGTERM, closes the client, then ends the process unless the program has its own listener. Default false. */
  closeOnSigterm?: boolean | null | undefined
  /**
   * Receives queued calls that could not be delivered. A failed call that reaches neither it, nor a listener of
   * 'error', nor a callback causes a process warning. flush() and close() wait for a returned promise, and until then
   * the calls count towards `maxQueue`. Do not await flush(), close() or room() in it.
   */
  onFailure?: OnFailure | null | undefined
}
