import type { FastifyInstance } from 'fastify'
import type { Source } from '../../schemas/settings.ts'
import { operation } from '../http/operation.ts'
import { answerTo } from '../http/refusal.ts'
import { path } from '../http/serve.ts'
import type { Live } from './live.ts'
import { ALL } from './show.ts'
import { STREAM, streamed } from './stream.ts'

export type LiveRouteParts = {
  live: Pick<Live, 'watch' | 'watchers' | 'end'>
  settings: { sources: ReadonlyMap<string, Source> }
}

/** `/sources/:id/live`, `/live`: the calls of a source, or of all, as they come, as server-sent events. */
export function liveRoutes(api: FastifyInstance, { live, settings }: LiveRouteParts): void {
  api.addHook('preClose', async () => live.end())

  path(api, '/sources/:id/live', {
    GET: operation({
      summary: 'Watch the calls of a source as they come',
      description:
        'Server-sent events: the last calls, `ready`, and then what comes. docs/activity.md has all of them.',
      answers: { 200: STREAM },
      refuses: ['not_found', 'too_many_watchers'],
      handle({ params: { id }, ...asked }) {
        if (!settings.sources.has(id)) return answerTo({ code: 'not_found', what: `source ${id}` })
        return streamed(asked, { ...live, watch: () => live.watch(id) })
      },
    }),
  })
  path(api, '/live', {
    GET: operation({
      summary: 'Watch the calls of all sources as they come',
      description: 'As of one source; `sourceId` says whose each call is.',
      answers: { 200: STREAM },
      refuses: ['too_many_watchers'],
      handle: (asked) => streamed(asked, { ...live, watch: () => live.watch(ALL) }),
    }),
  })
}
