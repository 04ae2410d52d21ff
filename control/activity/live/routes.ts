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

export function liveRoutes(api: FastifyInstance, { live, settings }: LiveRouteParts): void {
  api.addHook('preClose', async () => live.end())

  addPath(api, '/sources/:id/live', {
    GET: operation({
      summary: 'Watch the calls of a source live',
      description:
        'Server-sent events: recent calls, `ready`, then new calls. See docs/reference/activity.md.',
      responses: { 200: STREAM },
      errorCodes: ['not_found', 'too_many_watchers'],
      handle({ params: { id }, ...request }) {
        if (!settings.sources.has(id)) return refusalResponse({ code: 'not_found', what: `source ${id}` })
        return streamed(request, { ...live, watch: () => live.watch(id) })
      },
    }),
  })
  addPath(api, '/live', {
    GET: operation({
      summary: 'Watch the calls of all sources live',
      description: 'As for one source; `sourceId` names the source of each call.',
      responses: { 200: STREAM },
      errorCodes: ['too_many_watchers'],
      handle: (request) => streamed(request, { ...live, watch: () => live.watch(ALL) }),
    }),
  })
}

const tooMany = problem(
  { code: 'too_many_watchers', message: 'Too many clients are watching: close a page that does' },
  { 'retry-after': '10' },
)

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  // a shutdown need not wait for further requests on the connection
  connection: 'close',
  // keeps nginx from buffering
  'x-accel-buffering': 'no',
}

export const STREAM: ResponseSpec = {
  description: 'An endless stream.',
  type: 'text/event-stream',
  body: z.string(),
}

/** `too_many`: no more watchers are allowed. */
export type Watched = { watchers(): number; watch(): Readable | 'too_many' }

/** Of 20 watchers, so many may use the view token: administrators always find a place. */
const MAX_VIEWERS = 15

/** Server-sent events; HEAD gets only the headers. */
export function streamed(
  { method, who }: Pick<ApiRequest, 'method' | 'who'>,
  { watchers, watch }: Watched,
): ApiResponse {
  if (method === 'HEAD') return { status: 200, headers }
  const stream = who === 'view' && watchers() >= MAX_VIEWERS ? 'too_many' : watch()
  return stream === 'too_many' ? tooMany : { status: 200, headers, body: stream }
}
