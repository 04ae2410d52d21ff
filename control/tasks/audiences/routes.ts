import type { FastifyInstance } from 'fastify'
import type { z } from 'zod'
import type { Sync } from '../../../schemas/task.ts'
import type { Refusal } from '../../../settings/resources/decide.ts'
import { idShape } from '../../../settings/settings.ts'
import { audit } from '../../api/audit.ts'
import { takeStreams } from '../../api/body-stream.ts'
import { unavailable, writeConditionally } from '../../api/conditional-write.ts'
import { type ApiRequest, addPath, operation } from '../../api/operation.ts'
import { pageOf, pageOfTasks, tasksPageShape } from '../../api/pagination.ts'
import { type ApiResponse, refusalResponse } from '../../api/response.ts'
import { taskRecord } from '../task-table.ts'
import { type SyncRouteParts, syncResponse, syncShape } from './sync.ts'
import { type ComputationRouteParts, uploadOperations } from './upload-operations.ts'

export type { ComputationRouteParts }

export function computationRoutes(api: FastifyInstance, parts: ComputationRouteParts): void {
  const shutdownController = new AbortController()
  api.addHook('preClose', async () => shutdownController.abort())
  const { members, values } = uploadOperations(parts, shutdownController.signal)
  api.register(async (streamed) => {
    takeStreams(streamed)
    addPath(streamed, '/audiences/:id/members', members)
    addPath(streamed, '/traits/:id/values', values)
  })
  syncRoutes(api, parts)
}

const listShape = tasksPageShape.omit({ newest: true }).extend({
  audienceId: idShape.optional().describe('Only syncs of this audience.'),
  traitId: idShape.optional().describe('Only syncs of this trait.'),
})

const SYNC = { description: 'The sync.', body: syncShape }

function syncRoutes(api: FastifyInstance, parts: SyncRouteParts): void {
  const { syncs } = parts.tasks
  addPath(api, '/syncs', {
    GET: operation({
      summary: 'List syncs',
      query: listShape,
      responses: {
        200: {
          description: 'A page, newest first.',
          body: pageOf(syncShape),
        },
      },
      handle({ query: { audienceId, traitId, ...page } }) {
        const asked = syncs.values().filter((sync) => isOf(sync, { audienceId, traitId }))
        const { items, next } = pageOfTasks(asked, { ...page, newest: 'true' })
        return { status: 200, body: { items: items.map(syncResponse), next } }
      },
    }),
  })
  addPath(api, '/syncs/:id', {
    GET: operation({
      summary: 'Show a sync',
      responses: { 200: SYNC },
      errorCodes: ['not_found'],
      handle({ params: { id } }) {
        const found = syncs.get(id)
        if (!found) return refusalResponse({ code: 'not_found', what: `sync ${id}` })
        return { status: 200, body: syncResponse(found) }
      },
    }),
    DELETE: operation({
      summary: 'Cancel a sync',
      description: 'Changes already sent to receivers stay; the next upload is compared with them.',
      responses: { 200: SYNC },
      errorCodes: ['not_found', 'sync_ended'],
      handle: (request) => cancel(request, parts),
    }),
  })
}

type Listed = Pick<z.infer<typeof listShape>, 'audienceId' | 'traitId'>

const isOf = ({ of }: Sync, { audienceId, traitId }: Listed) =>
  (audienceId === undefined || (of.kind === 'audience' && of.id === audienceId)) &&
  (traitId === undefined || (of.kind === 'trait' && of.id === traitId))

async function cancel({ params: { id }, caller }: ApiRequest, parts: SyncRouteParts): Promise<ApiResponse> {
  const { tasks, taskWriter: writer, log } = parts
  const finishedAt = new Date().toISOString()
  const decide = (): Sync | { refusal: Refusal } => {
    const sync = tasks.syncs.get(id)
    if (!sync) return { refusal: { code: 'not_found', what: `sync ${id}` } }
    if (sync.state !== 'accepted') return ended(`sync ${id} is already ${sync.state}`)
    if (sync.others === 'forgotten')
      return ended(`sync ${id} is deleting the users of a removed audience or trait`)
    return { ...sync, state: 'cancelled', finishedAt }
  }
  const outcome = await writeConditionally(
    { tables: [tasks.table], writer, log },
    { decide, records: (sync) => [taskRecord(sync)] },
  )
  if (outcome === 'unavailable') {
    audit(log, caller, { what: 'sync', outcome, id })
    return unavailable
  }
  if ('refusal' in outcome) return refusalResponse(outcome.refusal)
  audit(log, caller, { what: 'sync', outcome: 'cancelled', id })
  return { status: 200, body: syncResponse(outcome) }
}

const ended = (message: string): { refusal: Refusal } => ({
  refusal: { code: 'in_use', faults: [{ pointer: '', code: 'sync_ended', message }] },
})
