import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import got, { RequestError } from 'got'
import type { Target } from '../target.ts'
import { refused, unreachable } from './ask.ts'
import { sseParser, type Told } from './sse.ts'

/**
 * What control tells on a stream, until that ends or is aborted. Ends quietly when the connection breaks after it had begun.
 * @throws CliFault refused, unreachable
 */
export async function* listen(
  { control, token }: Pick<Target, 'control' | 'token'>,
  { path, signal }: { path: string; signal: AbortSignal },
): AsyncGenerator<Told> {
  const stream = got.stream(`${control}/api/${path}`, {
    headers: { authorization: `Bearer ${token}` },
    throwHttpErrors: false,
    followRedirect: false,
    retry: { limit: 0 },
    signal,
  })
  const response = await once(stream, 'response').then(
    ([first]: { statusCode: number }[]) => first,
    (cause: unknown) => {
      if (signal.aborted) return undefined
      throw unreachable(control, cause)
    },
  )
  if (!response) return
  if (response.statusCode !== 200)
    throw refused({ status: response.statusCode, body: bodyOf(await text(stream)) })
  const parse = sseParser()
  const decoder = new TextDecoder()
  try {
    for await (const chunk of stream) yield* parse(decoder.decode(chunk, { stream: true }))
  } catch (error) {
    // it broke, or nobody listens any more: either way it is over
    if (!signal.aborted && !isBroken(error)) throw error
  }
}

const isBroken = (error: unknown) =>
  error instanceof RequestError ||
  (error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
