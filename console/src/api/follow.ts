import { type ServerEvent, sseParser } from '../../../cli/api/sse.ts'
import { type Refused, refusal, unreachable } from './problem.ts'

/** `times` it was tried in vain, one after the other: the next try comes by itself. */
export type StreamState =
  | { is: 'connecting' }
  | { is: 'open' }
  | { is: 'lost'; error: Refused; times: number }

export type Following = {
  url: string
  /** Ends it. */
  signal: AbortSignal
  onTold: (told: ServerEvent) => void
  onState: (state: StreamState) => void
  /** What sends nothing for so long, not even that it is still there, is broken. */
  silenceMs?: number
  againMs?: number
}

/** Control says every 15 s that it is there. */
const SILENCE_MS = 40_000
const AGAIN_MS = 2_000
/** What was refused is not asked for as often; but 503, as control is just starting. */
const REFUSED_MS = 10_000
/** 0: there was no answer. */
const SOON = [0, 503]

/**
 * Server-sent events, come what may: after a break it is begun again. By fetch, as the browser's own EventSource keeps to itself
 * why a stream was refused, and that one that is silent is dead.
 */
export async function follow({ onState, ...asked }: Following): Promise<void> {
  const { signal, againMs = AGAIN_MS } = asked
  let times = 0
  onState({ is: 'connecting' })
  while (!signal.aborted) {
    const error = await listen(asked, () => {
      times = 0
      onState({ is: 'open' })
    })
    if (signal.aborted) return
    times += 1
    onState({ is: 'lost', error, times })
    await pause(SOON.includes(error.status) ? againMs : REFUSED_MS, signal)
  }
}

/** @returns why it has ended. */
async function listen(
  { url, signal, onTold, silenceMs = SILENCE_MS }: Omit<Following, 'onState'>,
  onOpen: () => void,
): Promise<Refused> {
  const ending = new AbortController()
  const end = () => ending.abort()
  signal.addEventListener('abort', end)
  let silence = setTimeout(end, silenceMs)
  try {
    const response = await fetch(url, { signal: ending.signal })
    if (!response.ok || !response.body)
      return refusal(await response.json().catch(() => undefined), response.status)
    onOpen()
    const parse = sseParser()
    const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
      clearTimeout(silence)
      silence = setTimeout(end, silenceMs)
      parse(piece.value).forEach(onTold)
    }
  } catch {
    // it broke, was silent for too long, or nobody wants it any more
  } finally {
    clearTimeout(silence)
    signal.removeEventListener('abort', end)
    end()
  }
  return unreachable()
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
