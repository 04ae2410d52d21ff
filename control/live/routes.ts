import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Source } from '../../schemas/settings.ts'
import { type Answer, problem } from '../answer.ts'
import { path } from '../http.ts'
import { operation } from '../operation.ts'
import { answerTo } from '../refusal.ts'
import type { Live } from './live.ts'
import { ALL } from './show.ts'

export type LiveRouteParts = {
  live: Pick<Live, 'watch' | 'end'>
  settings: { sources: ReadonlyMap<string, Source> }
}

const tooMany = problem(
  { code: 'too_many_watchers', message: 'As many as may watch calls do already: close a page that does' },
  { 'retry-after': '10' },
)

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  // one connection, one stream: at the end of the process nobody waits for what else might come on it
  connection: 'close',
  // nginx would gather it
  'x-accel-buffering': 'no',
}

const answers = {
  200: { description: 'A stream, without end.', type: 'text/event-stream', body: z.string() },
}

/** `/sources/:id/live`, `/live`: the calls of a source, or of all, as they come, as server-sent events. */
export function liveRoutes(api: FastifyInstance, { live, settings }: LiveRouteParts): void {
  api.addHook('preClose', async () => live.end())

  function answer(method: string, watched: string): Answer {
    if (method === 'HEAD') return { status: 200, headers }
    const stream = live.watch(watched)
    return stream === 'too_many' ? tooMany : { status: 200, headers, body: stream }
  }

  path(api, '/sources/:id/live', {
    GET: operation({
      summary: 'Watch the calls of a source as they come',
      description:
        'Server-sent events: the last calls, `ready`, and then what comes. docs/activity.md has all of them.',
      answers,
      refuses: ['not_found', 'too_many_watchers'],
      handle({ method, params: { id } }) {
        if (!settings.sources.has(id)) return answerTo({ code: 'not_found', what: `source ${id}` })
        return answer(method, id)
      },
    }),
  })
  path(api, '/live', {
    GET: operation({
      summary: 'Watch the calls of all sources as they come',
      description: 'As of one source; `sourceId` says whose each call is.',
      answers,
      refuses: ['too_many_watchers'],
      handle: ({ method }) => answer(method, ALL),
    }),
  })
}
