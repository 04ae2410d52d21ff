import type { FastifyInstance } from 'fastify'
import { path } from '../http/serve.ts'
import { takeStreams } from './body.ts'
import { syncRoutes } from './sync-routes.ts'
import { type ComputationRouteParts, uploadOperations } from './upload-operations.ts'

export type { ComputationRouteParts }

/** `/audiences/:id/members`, `/traits/:id/values`: who and what they are now. `/syncs`: what has come of uploads. */
export function computationRoutes(api: FastifyInstance, parts: ComputationRouteParts): void {
  const ending = new AbortController()
  api.addHook('preClose', async () => ending.abort())
  const { members, values } = uploadOperations(parts, ending.signal)
  api.register(async (streamed) => {
    takeStreams(streamed)
    path(streamed, '/audiences/:id/members', members)
    path(streamed, '/traits/:id/values', values)
  })
  syncRoutes(api, parts)
}
