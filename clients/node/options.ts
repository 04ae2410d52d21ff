import type { OnFailure } from './report.ts'

/** What a client is made with. Times are in milliseconds, sizes in bytes. Null and undefined are the same everywhere: not given. */
export type Options = {
  /** The source's write key. */
  writeKey: string
  /**
   * The URL that batches are posted to; without a path, `/v1/batch` there. Paths of single calls, such as `/v1/track`, take no batches.
   * Default `http://localhost:8080/v1/batch`.
   */
  endpoint?: string | null | undefined
  /** So many waiting calls are sent; 1 sends each alone. Never above `maxQueue`. Default 20. */
  flushAt?: number | null | undefined
  /** Another name of `flushAt`. */
  size?: number | null | undefined
  /** What waits is sent when so long has passed since the last batch, or before there was one since the first call. Default 5,000. */
  flushAfter?: number | null | undefined
  /** Another name of `flushAfter`. */
  interval?: number | null | undefined
  /**
   * Calls in memory, those under way and those that `onFailure` is at work on included; past it calls throw `queue_full`. Default 20,000.
   */
  maxQueue?: number | null | undefined
  /** The same in bytes of JSON. At least a call's 32,768; default 33,554,432 (32 MB). */
  maxQueueBytes?: number | null | undefined
  /**
   * Tries after the first one, all within 45 minutes of it: later the service could take a call that comes twice for a new one, and
   * sooner where a million calls of a partition come in less time. Default 25: the waits between them take 96 s on average, 193 s at
   * most, and what the service asks for.
   */
  maxRetries?: number | null | undefined
  /** Before the second try, at most so long; twice as long before each further one, up to 10 s. Default 100. */
  retryBase?: number | null | undefined
  /** For one try, to the end of its answer, but never past those 45 minutes. Default 15,000: the service takes up to 10 s. */
  requestTimeout?: number | null | undefined
  /** For close(); what is not sent by then is reported, and onFailure has another second. Default 30,000. */
  closeTimeout?: number | null | undefined
  /** Compresses bodies above 1 KB. Default true. */
  gzip?: boolean | null | undefined
  /**
   * Agents that make the connections in the place of the library's own: `http` for an http endpoint, `https` for an https one. The way
   * to a proxy, as the variables `http_proxy` and `https_proxy` are not looked at. close() leaves their connections to you.
   */
  agent?: { http?: object | null | undefined; https?: object | null | undefined } | null | undefined
  /** On SIGTERM the client is closed, then the process ends, unless it has a listener of its own to do that. Default false. */
  closeOnSigterm?: boolean | null | undefined
  /**
   * Gets every call that was taken and could not be delivered. Without it a warning of the process says so. flush() and close() wait
   * for the promise that it may return, and the calls count for `maxQueue` until then: flush(), close() and room() are not to be awaited
   * in it.
   */
  onFailure?: OnFailure | null | undefined
}
