import { once as onceEvent } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import got, { RequestError } from 'got'
import { CliError } from '../context.ts'
import type { Target } from '../target.ts'
import { refused, unreachable } from './client.ts'
import { type ServerEvent, sseParser } from './sse.ts'

/** Control sends a comment every 15 s. A stream that is silent for longer may be broken, although it is open. */
const SILENCE_MS = 40_000
/** Control may be starting, or a proxy cannot reach it yet. */
const STARTING = [502, 503, 504]

/**
 * Returns when the stream ends, is aborted, or breaks or falls silent after it has begun.
 * @throws CliError refused, unreachable, unknown_answer
 */
export async function* listen(
  { control, token }: Pick<Target, 'control' | 'token'>,
  { path, signal, silenceMs = SILENCE_MS }: { path: string; signal: AbortSignal; silenceMs?: number },
): AsyncGenerator<ServerEvent> {
  const stream = got.stream(`${control}/api/${path}`, {
    headers: { authorization: `Bearer ${token}` },
    throwHttpErrors: false,
    followRedirect: false,
    retry: { limit: 0 },
    timeout: { socket: silenceMs },
    signal,
  })
  // it may break before anything reads it
  stream.on('error', () => undefined)
  const response = await onceEvent(stream, 'response').then(
    ([first]: { statusCode: number; headers: IncomingHttpHeaders }[]) => first,
    (cause: unknown) => {
      if (signal.aborted) return undefined
      throw unreachable(control, cause)
    },
  )
  if (!response) return
  const { statusCode: status, headers } = response
  if (status !== 200) {
    const error = refused({ status, body: await bodyOf(stream) })
    throw STARTING.includes(status) ? new CliError('unreachable', error.message) : error
  }
  if (!headers['content-type']?.startsWith('text/event-stream')) {
    stream.destroy()
    throw new CliError(
      'unknown_answer',
      `${control} answered 200 without a stream of events: is this the address of control?`,
    )
  }
  const parse = sseParser()
  const decoder = new TextDecoder()
  try {
    for await (const chunk of stream) yield* parse(decoder.decode(chunk, { stream: true }))
  } catch (error) {
    if (!signal.aborted && !isBroken(error)) throw error
  }
}

const isBroken = (error: unknown) =>
  error instanceof RequestError ||
  (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')

/** Undefined if it breaks or is not JSON. */
async function bodyOf(stream: Readable): Promise<unknown> {
  try {
    return JSON.parse(await text(stream))
  } catch {
    return undefined
  }
}
