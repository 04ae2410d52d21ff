import { finished, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { type Answer, problem } from '../http/answer.ts'
import type { Asked } from '../http/operation.ts'

/** Bodies that are no JSON are read as they come, however long they are. */
export function takeStreams(api: FastifyInstance): void {
  api.addContentTypeParser('*', (_, body, done) => done(null, body))
}

export const readAsStream = (body: unknown): body is Readable => body instanceof Readable

/** The text of a streamed body, inflated; or why it is none. Whoever has read enough of it leaves the rest to be read off. */
export function textOf({
  body,
  headers,
}: Pick<Asked, 'body' | 'headers'>): { text: AsyncIterable<Buffer> } | { refused: Answer } {
  // without a body there is nothing to parse
  if (body === undefined || body === null) return { text: Readable.from([]) }
  if (!readAsStream(body)) return { refused: wrongType(LINES) }
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity'
  // destroyed, a body could not be read off, and its connection would be good for no other request
  if (encoding === 'identity') return { text: body.iterator({ destroyOnReturn: false }) }
  if (encoding !== 'gzip') return { refused: wrongEncoding }
  return { text: inflated(body) }
}

/** Not by `pipeline`, which destroys the body when no more of the text is wanted. */
async function* inflated(body: Readable): AsyncGenerator<Buffer> {
  const text = createGunzip()
  // it may have broken off before this
  finished(body, (error) => error && text.destroy(error))
  yield* body.pipe(text)
}

/** Whether each line is JSON. */
export const isNdjson = ({ headers }: Pick<Asked, 'headers'>) =>
  /^application\/(x-ndjson|ndjson|jsonl|x-jsonlines)\b/i.test(headers['content-type'] ?? '')

const LINES = 'Send lines: one user id each as text/plain, or one JSON value each as application/x-ndjson'

export const wrongType = (message: string) => problem({ code: 'unsupported_media_type', message })

const wrongEncoding = problem({
  code: 'unsupported_encoding',
  message: 'Send the body as it is, or with Content-Encoding: gzip',
})
