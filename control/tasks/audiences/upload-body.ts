import { finished, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { pointer } from '../../../process/json-pointer.ts'
import { type Fault, faultsOf } from '../../../settings/faults.ts'
import { userIdShape } from '../../../settings/settings.ts'
import type { ApiRequest } from '../../api/operation.ts'
import { type ApiResponse, problem } from '../../api/response.ts'
import type { Change } from './comparison.ts'

/** Takes bodies of any length. */
export function takeStreams(api: FastifyInstance): void {
  api.addContentTypeParser('*', (_, body, done) => done(null, body))
}

export const readAsStream = (body: unknown): body is Readable => body instanceof Readable

/** A caller may stop early and leave the rest to be drained. */
export function textOf({
  body,
  headers,
}: Pick<ApiRequest, 'body' | 'headers'>): { text: AsyncIterable<Buffer> } | { refused: ApiResponse } {
  // a missing body is an empty text
  if (body === undefined || body === null) return { text: Readable.from([]) }
  if (!readAsStream(body)) return { refused: wrongType(LINES) }
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity'
  // a destroyed body cannot be drained, and its connection serves no other request
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

export const isNdjson = ({ headers }: Pick<ApiRequest, 'headers'>) =>
  /^application\/(x-ndjson|ndjson|jsonl|x-jsonlines)\b/i.test(headers['content-type'] ?? '')

export const isCsv = ({ headers }: Pick<ApiRequest, 'headers'>) =>
  /^text\/csv\b/i.test(headers['content-type'] ?? '')

const LINES =
  'Send one user id on each line as text/plain, one JSON value on each line as application/x-ndjson, or text/csv'

export const wrongType = (message: string) => problem({ code: 'unsupported_media_type', message })

const wrongEncoding = problem({
  code: 'unsupported_encoding',
  message: 'Send the body uncompressed, or with Content-Encoding: gzip',
})

const users = z
  .array(z.string().trim().pipe(userIdShape))
  .max(10_000, 'at most 10,000 users: send several requests, or all members with PUT')
  .default([])
export const patchShape = z
  .strictObject({
    add: users.describe('Ids of users who join.'),
    remove: users.describe('Ids of users who leave. No user may be in both lists.'),
  })
  .meta({ id: 'MembersPatch' })

/** Parses who joins and who leaves an audience. @returns all faults if there are any. */
export function readPatch(body: unknown): { changes: Change[] } | { faults: Fault[] } {
  const parsed = patchShape.safeParse(body, { reportInput: true })
  if (!parsed.success) return { faults: faultsOf(parsed.error, patchShape) }
  const { add, remove } = parsed.data
  const added = new Set(add)
  const faults = remove.flatMap((userId, index): Fault[] => {
    if (!added.has(userId)) return []
    return [
      {
        pointer: pointer(['remove', index]),
        code: 'in_both',
        message: 'is in add as well: remove it from one of them',
      },
    ]
  })
  if (faults.length > 0) return { faults }
  const changes = [
    ...add.map((userId) => ({ userId, value: 'true' })),
    ...remove.map((userId) => ({ userId, value: null })),
  ]
  return { changes }
}
