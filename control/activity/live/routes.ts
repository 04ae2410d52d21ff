import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Source } from '../../../settings/settings.ts'
import { type ApiRequest, addPath, operation, type ResponseSpec } from '../../api/operation.ts'
import { type ApiResponse, problem, refusalResponse } from '../../api/response.ts'
import type { Live } from './live.ts'
import { ALL } from './live-calls.ts'

export type LiveRouteParts = {
  live: Pick<Live, 'watch' | 'watchers' | 'end'>
  settings: { sources: ReadonlyMap<string, Source> }
}

/** `/sources/:id/live`, `/live`: the calls of a source, or of all, as they come, as server-sent events. */
export function liveRoutes(api: FastifyInstance, { live, settings }: LiveRouteParts): void {
  api.addHook('preClose', async () => live.end())

  addPath(api, '/sources/:id/live', {
    GET: operation({
      summary: 'Watch the calls of a source as they come',
      description:
        'Server-sent events: the last calls, `ready`, and then what comes. docs/activity.md has all of them.',
      responses: { 200: STREAM },
      errorCodes: ['not_found', 'too_many_watchers'],
      handle({ params: { id }, ...asked }) {
        if (!settings.sources.has(id)) return refusalResponse({ code: 'not_found', what: `source ${id}` })
        return streamed(asked, { ...live, watch: () => live.watch(id) })
      },
    }),
  })
  addPath(api, '/live', {
    GET: operation({
      summary: 'Watch the calls of all sources as they come',
      description: 'As of one source; `sourceId` says whose each call is.',
      responses: { 200: STREAM },
      errorCodes: ['too_many_watchers'],
      handle: (asked) => streamed(asked, { ...live, watch: () => live.watch(ALL) }),
    }),
  })
}

const tooMany = problem(
  { code: 'too_many_watchers', message: 'As many as may watch do already: close a page that does' },
  { 'retry-after': '10' },
)

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  // one connection, one stream: at the end of the process nobody waits for what else might come on it
  connection: 'close',
  // nginx would gather it
  'x-accel-buffering': 'no',
}

/** As the description has it. */
export const STREAM: ResponseSpec = {
  description: 'A stream, without end.',
  type: 'text/event-stream',
  body: z.string(),
}

/** Who watches one kind of thing; with `too_many` nobody else may. */
export type Watched = { watchers(): number; watch(): Readable | 'too_many' }

/** Of the 20 that may watch one kind of thing, so many with the view token: whoever holds it, administrators find a place. */
const MOST_VIEWERS = 15

/** A stream of server-sent events; who asks for the headers alone gets them without one. */
export function streamed(
  { method, who }: Pick<ApiRequest, 'method' | 'who'>,
  { watchers, watch }: Watched,
): ApiResponse {
  if (method === 'HEAD') return { status: 200, headers }
  const stream = who === 'view' && watchers() >= MOST_VIEWERS ? 'too_many' : watch()
  return stream === 'too_many' ? tooMany : { status: 200, headers, body: stream }
}
