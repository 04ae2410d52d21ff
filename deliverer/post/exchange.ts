import { StringDecoder } from 'node:string_decoder'
import type { Dispatcher } from 'undici'
import { classifyError, codeOf, type Outcome, type ResponseHead } from '../classify.ts'

/** How much of a response is kept for the log, and how much and how long is read to be able to use its connection again. */
const KEPT_BYTES = 1_024
const READ_BYTES = 16 * 1024
const READ_MS = 1_000

/** Who is told of a POST: `heard` once, then `ended` once. */
export type Listener = {
  /** A new connection was made for it, and the request goes out. */
  connected?(): void
  /** By the response's headers, a failure, or the time limit, whichever came first. `sent`: the request had gone out. */
  heard(outcome: Outcome, durationMs: number, sent: boolean): void
  /** Nothing more comes. `response`: head of its body, at most 1,024 bytes in whole characters; null when it had none. */
  ended(response: string | null): void
}

type Options = {
  /** For all of it: name look-up, connect, TLS, headers; the body may have what is left, and at most a second. */
  limitMs: number
  classify: (head: ResponseHead) => Outcome
  listener: Listener
  /** Whether its connection is yet to be made. */
  isNew: boolean
  /** The connection is free (`reusable`), or has to be cut off. */
  release: (reusable: boolean) => void
}

/** Where it is cut may be in the middle of a character: what is there of that is left out. */
const textOf = (body: Buffer, isWhole: boolean) =>
  isWhole ? body.toString('utf8') : new StringDecoder('utf8').write(body.subarray(0, KEPT_BYTES))

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
  #isWhole = false
  #awaited = false

  constructor(options: Options) {
    this.#options = options
    this.#timer = setTimeout(() => this.fail('timeout'), options.limitMs)
  }

  /** It ends here, whatever the other side does. @param code see `classifyError`. */
  fail(code: string): void {
    this.#end({ failed: code, reusable: false })
  }

  onRequestStart(): void {
    this.#sent = true
    if (this.#options.isNew) this.#options.listener.connected?.()
  }

  onResponseStart(_: unknown, status: number, headers: ResponseHead['headers']): void {
    // 1xx comes before a response
    if (status < 200 || this.#state !== 'waiting') return
    this.#state = 'answered'
    this.#options.listener.heard(this.#options.classify({ status, headers }), this.#durationMs(), this.#sent)
    // most responses end in this very turn
    setImmediate(awaitBody, this)
  }

  /** What is left of the body may take what is left of the time, and no more than a second. */
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

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#bytes < KEPT_BYTES) {
      this.#chunks ??= []
      this.#chunks.push(chunk)
    }
    this.#bytes += chunk.length
    if (this.#bytes > READ_BYTES) this.#end({ reusable: false })
  }

  /** The connection is free in a later turn: what follows in the same read must close it, and not answer the next POST. */
  onResponseEnd(): void {
    this.#isWhole = true
    if (this.#awaited) setImmediate(awaitBody, this)
  }

  onResponseError(_: unknown, error: Error): void {
    this.#end({ failed: codeOf(error), reusable: false })
  }

  #durationMs(): number {
    return Math.round(performance.now() - this.#startedAt)
  }

  #end({ failed, reusable }: { failed?: string; reusable: boolean }): void {
    if (this.#state === 'ended') return
    clearTimeout(this.#timer)
    const wasWaiting = this.#state === 'waiting'
    this.#state = 'ended'
    const { listener, release } = this.#options
    release(reusable)
    if (wasWaiting)
      listener.heard(classifyError(failed ?? 'connection_closed'), this.#durationMs(), this.#sent)
    const isWhole = reusable && this.#bytes <= KEPT_BYTES
    listener.ended(this.#chunks ? textOf(Buffer.concat(this.#chunks), isWhole) : null)
  }
}
