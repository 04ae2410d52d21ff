import { StringDecoder } from 'node:string_decoder'
import type { Dispatcher } from 'undici'
import { classifyError, codeOf, type Outcome, type ResponseHead } from '../outcome.ts'

/** How much of a response is stored, and read for how long to reuse its connection. */
const KEPT_BYTES = 1_024
const READ_BYTES = 16 * 1024
const READ_MS = 1_000

/** `onOutcome` once, then `onEnd` once. */
export type Listener = {
  onConnected?(): void
  /** Before `onOutcome`. */
  onHead?(head: ResponseHead): void
  /** `sent`: the request was sent. */
  onOutcome(outcome: Outcome, durationMs: number, sent: boolean): void
  /** The first 1,024 bytes of the body as UTF-8, in whole characters; null without a body. */
  onEnd(response: string | null): void
}

type Options = {
  /** For name lookup, connect, TLS and headers. The body gets the rest, at most a second. */
  limitMs: number
  classify: (head: ResponseHead) => Outcome
  listener: Listener
  /** Releases the connection for reuse (`reusable`) or to be closed. */
  release: (reusable: boolean) => void
}

/** A byte that is not UTF-8 becomes U+FFFD, which takes three bytes: 1 KB of them would become 3 KB. */
function textOf(body: Buffer, isWhole: boolean): string {
  const text = isWhole ? body.toString('utf8') : beginning(body)
  return Buffer.byteLength(text) > KEPT_BYTES ? beginning(Buffer.from(text)) : text
}

/** Drops a partial character at the end. */
const beginning = (body: Buffer) => new StringDecoder('utf8').write(body.subarray(0, KEPT_BYTES))

/** undici's code, also for more data than one exchange reads. */
export const OVERFLOW = 'UND_ERR_HEADERS_OVERFLOW'

const awaitBody = (exchange: Exchange) => exchange.awaitBody()
/** Runs after sockets are read: the answer may have arrived while this process was paused. */
const timeOut = (exchange: Exchange) => exchange.timeOut()

/** Cutting off an endless or dripping response costs only its connection. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: Options
  readonly #startedAt = performance.now()
  #state: 'waiting' | 'answered' | 'ended' = 'waiting'
  #timer: NodeJS.Timeout
  #chunks: Buffer[] | undefined
  #bytes = 0
  #sent = false
  #answer: Outcome | undefined
  #answeredMs = 0
  #isReported = false
  #isWhole = false
  #awaited = false

  constructor(options: Options) {
    this.#options = options
    this.#timer = setTimeout(() => setImmediate(timeOut, this), options.limitMs)
  }

  /** For the headers of the final response. */
  isWaiting(): boolean {
    return this.#state === 'waiting'
  }

  timeOut(): void {
    if (this.#state === 'waiting') this.#end({ failed: 'timeout', reusable: false })
  }

  connected(): void {
    this.#options.listener.onConnected?.()
  }

  overflow(): void {
    this.#end({ failed: OVERFLOW, reusable: false })
  }

  onRequestStart(): void {
    this.#sent = true
  }

  onResponseStart(_: unknown, status: number, headers: ResponseHead['headers']): void {
    if (status < 200 || this.#state !== 'waiting') return
    this.#state = 'answered'
    this.#answer = this.#options.classify({ status, headers })
    this.#answeredMs = this.#durationMs()
    this.#options.listener.onHead?.({ status, headers })
    // most responses end in this turn of the event loop
    setImmediate(awaitBody, this)
  }

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

  /** The status counts once the body begins. Endless data before that is no response (`overflow`). */
  onResponseData(_: unknown, chunk: Buffer): void {
    this.#report()
    if (this.#bytes < KEPT_BYTES) {
      this.#chunks ??= []
      this.#chunks.push(chunk)
    }
    this.#bytes += chunk.length
    if (this.#bytes > READ_BYTES) this.#end({ reusable: false })
  }

  /** In a later turn: surplus data must close the connection, not answer the next POST. */
  onResponseEnd(): void {
    this.#isWhole = true
    this.#report()
    if (this.#awaited) setImmediate(awaitBody, this)
  }

  onResponseError(_: unknown, error: Error): void {
    this.#end({ failed: codeOf(error), reusable: false })
  }

  #durationMs(): number {
    return Math.round(performance.now() - this.#startedAt)
  }

  #report(failed = 'connection_closed'): void {
    if (this.#isReported) return
    this.#isReported = true
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
    this.#report(failed)
    const isWhole = reusable && this.#bytes <= KEPT_BYTES
    const chunks = this.#chunks
    const body = chunks && chunks.length > 1 ? Buffer.concat(chunks) : chunks?.[0]
    listener.onEnd(body ? textOf(body, isWhole) : null)
  }
}
