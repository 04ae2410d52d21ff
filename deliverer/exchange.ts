import type { Dispatcher } from 'undici'
import { classifyError, classifyStatus, codeOf, type Outcome } from './classify.ts'

/** How much of a response is kept for the log, and how much and how long is read to be able to use its connection again. */
const KEPT_BYTES = 1_024
const READ_BYTES = 16 * 1024
const READ_MS = 1_000

export type Exchange = {
  handler: Dispatcher.DispatchHandler
  /** Settled by the response's headers, a failure, or the time limit, whichever is first. */
  outcome: Promise<Outcome>
  /** Head of the response's body; null when there is none. */
  response: Promise<string | null>
  /** Ends it from outside, before it was begun. */
  end(outcome: Outcome): void
}

/**
 * One POST from our side: what came of it, within the limit, and the head of the answer. The body is not needed: an endless
 * or dripping one is cut off, which costs its connection and nothing else.
 */
export function createExchange(timeoutMs: number): Exchange {
  const outcome = Promise.withResolvers<Outcome>()
  const response = Promise.withResolvers<string | null>()
  const chunks: Buffer[] = []
  let bytes = 0
  let controller: Dispatcher.DispatchController | undefined
  let state: 'waiting' | 'answered' | 'ended' = 'waiting'
  let timer = setTimeout(() => end(classifyError('timeout')), timeoutMs)

  function end(result?: Outcome): void {
    if (state === 'ended') return
    clearTimeout(timer)
    state = 'ended'
    if (result) outcome.resolve(result)
    response.resolve(bytes === 0 ? null : Buffer.concat(chunks).subarray(0, KEPT_BYTES).toString('utf8'))
    // nothing happens when the response has ended by itself; without a controller it has not been begun
    controller?.abort(new Error('ended'))
  }

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(begun) {
      controller = begun
      if (state === 'ended') begun.abort(new Error('too late'))
    },
    onResponseStart(_controller, status) {
      if (status < 200 || state !== 'waiting') return
      clearTimeout(timer)
      state = 'answered'
      outcome.resolve(classifyStatus(status))
      timer = setTimeout(() => end(), READ_MS)
    },
    onResponseData(_controller, chunk) {
      if (bytes < KEPT_BYTES) chunks.push(chunk)
      bytes += chunk.length
      if (bytes > READ_BYTES) end()
    },
    onResponseEnd() {
      controller = undefined
      end()
    },
    onResponseError(_controller, error) {
      controller = undefined
      end(state === 'waiting' ? classifyError(codeOf(error)) : undefined)
    },
  }
  return { handler, outcome: outcome.promise, response: response.promise, end }
}
