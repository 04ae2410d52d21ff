import { type ServerEvent, sseParser } from '../../../../cli/api/sse.ts'
import { ApiError, toApiError, unreachable } from '../client/errors.ts'

/** `lost`: reconnects automatically; `failures`: failed connections in a row. `ended`: for good. */
export type StreamState =
  | { is: 'connecting' }
  | { is: 'open' }
  | { is: 'lost'; error: ApiError; failures: number }
  | { is: 'ended'; error: ApiError }

export type FollowOptions = {
  url: string
  signal: AbortSignal
  onEvent: (event: ServerEvent) => void
  onState: (state: StreamState) => void
  /** The longest silence, without even a comment, before a stream counts as broken. */
  silenceMs?: number
  reconnectMs?: number
}

/** Control sends a comment every 15 s. */
const SILENCE_MS = 40_000
const RECONNECT_MS = 2_000
/** The wait after an error answer, except 503: control may be starting. */
const ERROR_MS = 10_000
/** 0: no answer. */
const RECONNECT_STATUSES = [0, 503]
/** Stands for the event `ended`. */
const GONE = 410

/**
 * Follows server-sent events. Reconnects after every break, except when the source was deleted. EventSource would
 * report neither why a stream was refused nor that a silent one is broken.
 */
export async function follow({ onState, ...options }: FollowOptions): Promise<void> {
  const { signal, reconnectMs = RECONNECT_MS } = options
  let failures = 0
  let wasOpen = false
  onState({ is: 'connecting' })
  while (!signal.aborted) {
    const error = await listen(options, () => {
      failures = 0
      wasOpen = true
      onState({ is: 'open' })
    })
    if (signal.aborted) return
    // before the first connection, a control process may not know a new source yet
    if (error.status === GONE || (wasOpen && error.code === 'not_found'))
      return onState({ is: 'ended', error })
    failures += 1
    onState({ is: 'lost', error, failures })
    await pause(RECONNECT_STATUSES.includes(error.status) ? reconnectMs : ERROR_MS, signal)
  }
}

async function listen(
  { url, signal, onEvent, silenceMs = SILENCE_MS }: Omit<FollowOptions, 'onState'>,
  onOpen: () => void,
): Promise<ApiError> {
  const controller = new AbortController()
  const end = () => controller.abort()
  signal.addEventListener('abort', end)
  let silence = setTimeout(end, silenceMs)
  let reason: ApiError | undefined
  try {
    const response = await fetch(url, { signal: controller.signal })
    if (!response.ok || !response.body)
      return toApiError(await response.json().catch(() => undefined), response.status)
    onOpen()
    const parse = sseParser()
    const chunks = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let chunk = await chunks.read(); !chunk.done; chunk = await chunks.read()) {
      clearTimeout(silence)
      silence = setTimeout(end, silenceMs)
      for (const event of parse(chunk.value)) {
        if (event.event === 'ended') reason = new ApiError({ ...JSON.parse(event.data), errors: [] }, GONE)
        else onEvent(event)
      }
    }
  } catch {
    // it broke, was silent or was aborted
  } finally {
    clearTimeout(silence)
    signal.removeEventListener('abort', end)
    end()
  }
  return reason ?? unreachable()
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
