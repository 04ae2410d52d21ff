import type { FastifyInstance } from 'fastify'
import type { Source } from '../../../settings/settings.ts'
import { addPath, operation } from '../../api/operation.ts'
import { refusalResponse } from '../../api/response.ts'
import { STREAM, streamed } from '../stream/response.ts'
import { ALL } from './channel.ts'
import type { Live } from './live.ts'

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
