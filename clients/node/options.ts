import type { OnFailure } from './report.ts'

/** What a client is made with. Times are in milliseconds, sizes in bytes. */
export type Options = {
  /** The source's write key. */
  writeKey: string
  /** The request URL for batches; without a path, `/v1/batch` there. Default `http://localhost:8080/v1/batch`. */
  endpoint?: string | undefined
  /** So many waiting calls are sent; 1 sends each alone. Never above `maxQueue`. Default 20. */
  flushAt?: number | undefined
  /** Another name of `flushAt`. */
  size?: number | undefined
  /** What waits is sent when so long has passed since the last batch, or before there was one since the first call. Default 5,000. */
  flushAfter?: number | undefined
  /** Another name of `flushAfter`. */
  interval?: number | undefined
  /** Calls in memory, those under way included; past it calls throw `queue_full`. Default 20,000. */
  maxQueue?: number | undefined
  /** The same in bytes of JSON. At least a call's 32,768; default 33,554,432 (32 MB). */
  maxQueueBytes?: number | undefined
  /** Tries after the first one. Default 25: these take 96 s on average, 193 s at most, and what the service asks for. */
  maxRetries?: number | undefined
  /** Before the second try, at most so long; twice as long before each further one, up to 10 s. Default 100. */
  retryBase?: number | undefined
  /** For one try, to the end of its answer. Default 15,000: the service takes up to 10 s. */
  requestTimeout?: number | undefined
  /** For close(); what is not sent by then is reported, and onFailure has another second. Default 30,000. */
  closeTimeout?: number | undefined
  /** Compresses bodies above 1 KB. Default true. */
  gzip?: boolean | undefined
  /**
   * Agents that make the connections in the place of the library's own, such as those of a proxy: `http` for an http endpoint, `https`
   * for an https one. close() leaves their connections to you.
   */
  agent?: { http?: object | undefined; https?: object | undefined } | undefined
  /** On SIGTERM the client is closed, then the process ends, unless it has a listener of its own to do that. Default false. */
  closeOnSigterm?: boolean | undefined
  /**
   * Gets every call that was taken and could not be delivered. Without it a warning of the process says so. flush() and close() wait
   * for the promise that it may return, so that they are not to be awaited in it.
   */
  onFailure?: OnFailure | undefined
}
