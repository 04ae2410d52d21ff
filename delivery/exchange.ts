import { StringDecoder } from 'node:string_decoder'
import type { Dispatcher } from 'undici'
import { classifyError, codeOf, type Outcome, type ResponseHead } from './outcome.ts'

/** How much of a response is kept for the log, and how much and how long is read to be able to use its connection again. */
const KEPT_BYTES = 1_024
const READ_BYTES = 16 * 1024
const READ_MS = 1_000

/** Who is told of a POST: `onOutcome` once, then `onEnd` once. */
export type Listener = {
  /** A new connection was made for it. */
  onConnected?(): void
  /**
   * The outcome is known, from the response's status, a failure or the time limit. `durationMs`: the time until then.
   * `sent`: the request was sent.
   */
  onOutcome(outcome: Outcome, durationMs: number, sent: boolean): void
  /** Nothing more comes. `response`: head of its body, at most 1,024 bytes in whole characters; null when it had none. */
  onEnd(response: string | null): void
}

type Options = {
  /** For all of it: name look-up, connect, TLS, headers; the body may have what is left, and at most a second. */
  limitMs: number
  classify: (head: ResponseHead) => Outcome
  listener: Listener
  /** The connection is free (`reusable`), or has to be cut off. */
  release: (reusable: boolean) => void
}

/** Where it is cut may be in the middle of a character: what is there of that is left out. */
const textOf = (body: Buffer, isWhole: boolean) =>
  isWhole ? body.toString('utf8') : new StringDecoder('utf8').write(body.subarray(0, KEPT_BYTES))

/** The receiver sent more than one exchange reads. */
const OVERFLOW = 'UND_ERR_HEADERS_OVERFLOW'

const awaitBody = (exchange: Exchange) => exchange.awaitBody()

/**
 * One POST from our side. The response's body is not needed: an endless or dripping one is cut off, which costs its
 * connection and nothing else.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: Options
  readonly #startedAt = performance.now()
  #state: 'waiting' | 'answered' | 'ended' = 'waiting'
  #timer: NodeJS.Timeout
  #chunks: Buffer[] | undefined
  #bytes = 0
  #sent = false
  /** The outcome by the response's status. */
  #answer: Outcome | undefined
  #answeredMs = 0
  #isTold = false
  #isWhole = false
  #awaited = false

  constructor(options: Options) {
    this.#options = options
    this.#timer = setTimeout(() => this.#end({ failed: 'timeout', reusable: false }), options.limitMs)
  }

  /** A new connection was made for it. */
  connected(): void {
    this.#options.listener.onConnected?.()
  }

  /** The receiver has sent more than one exchange reads. */
  overflow(): void {
    this.#end({ failed: OVERFLOW, reusable: false })
  }

  onRequestStart(): void {
    this.#sent = true
  }

  onResponseStart(_: unknown, status: number, headers: ResponseHead['headers']): void {
    // 1xx comes before a response
    if (status < 200 || this.#state !== 'waiting') return
    this.#state = 'answered'
    this.#answer = this.#options.classify({ status, headers })
    this.#answeredMs = this.#durationMs()
    // most responses end in this very turn
    setImmediate(awaitBody, this)
  }

  /** The rest of the body may take the rest of the time, but no more than a second. */
  awaitBody(): void {
    if (this.#state !== 'answered') return
    this.#awaited = true
    if (this.#isWhole) {
      this.#end({ reusable: true })
      return
    }
    clearTimeout(this.#timer)
    const left = Math.min(READ_MS, this.#options.limitMs - this.#durationMs())
    this.#timer = setTimeout(() => this.#end({ reusable: false }), Math.max(0, left))
  }

  /** From here on the status counts. Endless data before the body begins is no response (`overflow`). */
  onResponseData(_: unknown, chunk: Buffer): void {
    this.#tell()
    if (this.#bytes < KEPT_BYTES) {
      this.#chunks ??= []
      this.#chunks.push(chunk)
    }
    this.#bytes += chunk.length
    if (this.#bytes > READ_BYTES) this.#end({ reusable: false })
  }

  /** Frees the connection in a later turn: what follows in the same read must close it, not answer the next POST. */
  onResponseEnd(): void {
    this.#isWhole = true
    this.#tell()
    if (this.#awaited) setImmediate(awaitBody, this)
  }

  onResponseError(_: unknown, error: Error): void {
    this.#end({ failed: codeOf(error), reusable: false })
  }

  #durationMs(): number {
    return Math.round(performance.now() - this.#startedAt)
  }

  #tell(failed = 'connection_closed'): void {
    if (this.#isTold) return
    this.#isTold = true
    const { listener } = this.#options
    if (this.#answer && failed !== OVERFLOW) listener.onOutcome(this.#answer, this.#answeredMs, this.#sent)
    else listener.onOutcome(classifyError(failed), this.#durationMs(), this.#sent)
  }

  #end({ failed, reusable }: { failed?: string; reusable: boolean }): void {
    if (this.#state === 'ended') return
    clearTimeout(this.#timer)
    this.#state = 'ended'
    const { listener, release } = this.#options
    release(reusable)
    this.#tell(failed)
    const isWhole = reusable && this.#bytes <= KEPT_BYTES
    const [first, ...others] = this.#chunks ?? []
    const body = first && others.length > 0 ? Buffer.concat([first, ...others]) : first
    listener.onEnd(body ? textOf(body, isWhole) : null)
  }
}
