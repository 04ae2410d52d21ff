import { finished, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import type { ApiRequest } from './operation.ts'
import { type ApiResponse, problem } from './response.ts'

/** Takes bodies of any length. */
export function takeStreams(api: FastifyInstance): void {
  api.addContentTypeParser('*', (_, body, done) => done(null, body))
}

export const readAsStream = (body: unknown): body is Readable => body instanceof Readable

/**
 * A caller may stop early and leave the rest to be drained.
 * @param wanted says what to send instead of a body that was parsed.
 */
export function textOf(
  { body, headers }: Pick<ApiRequest, 'body' | 'headers'>,
  wanted: string,
): { text: AsyncIterable<Buffer> } | { refused: ApiResponse } {
  // a missing body is an empty text
  if (body === undefined || body === null) return { text: Readable.from([]) }
  if (!readAsStream(body)) return { refused: wrongType(wanted) }
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity'
  // if the body were destroyed, the rest could not be read, and the connection could not be used again
  if (encoding === 'identity') return { text: body.iterator({ destroyOnReturn: false }) }
  if (encoding !== 'gzip') return { refused: wrongEncoding }
  return { text: inflated(body) }
}

/** `pipeline` would destroy the body early. */
async function* inflated(body: Readable): AsyncGenerator<Buffer> {
  const text = createGunzip()
  // the body may have broken off already
  finished(body, (error) => error && text.destroy(error))
  yield* body.pipe(text)
}

export const wrongType = (message: string) => problem({ code: 'unsupported_media_type', message })

const wrongEncoding = problem({
  code: 'unsupported_encoding',
  message: 'Send the body uncompressed, or with Content-Encoding: gzip',
})
