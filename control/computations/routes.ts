import type { FastifyInstance } from 'fastify'
import { path } from '../http.ts'
import { operation } from '../operation.ts'
import { answerTo } from '../refusal.ts'
import { takeStreams } from './body.ts'
import { shownSync, syncShape } from './shown.ts'
import { type ComputationRouteParts, uploadOperations } from './upload-operations.ts'

export type { ComputationRouteParts }

/** `/audiences/:id/members`, `/traits/:id/values`: who and what they are now. `/syncs/:id`: what has come of an upload. */
export function computationRoutes(api: FastifyInstance, parts: ComputationRouteParts): void {
  const ending = new AbortController()
  api.addHook('preClose', async () => ending.abort())
  const { members, values } = uploadOperations(parts, ending.signal)
  api.register(async (streamed) => {
    takeStreams(streamed)
    path(streamed, '/audiences/:id/members', members)
    path(streamed, '/traits/:id/values', values)
  })
  path(api, '/syncs/:id', {
    GET: operation({
      summary: 'What has come of an upload',
      answers: { 200: { description: 'The sync.', body: syncShape } },
      refuses: ['not_found'],
      handle({ params: { id } }) {
        const found = parts.tasks.syncs.get(id)
        if (!found) return answerTo({ code: 'not_found', what: `sync ${id}` })
        return { status: 200, body: shownSync(found) }
      },
    }),
  })
}
