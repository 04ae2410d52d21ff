import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Sync } from '../../../schemas/task.ts'
import type { Refusal } from '../../../settings/resources/decide.ts'
import { idShape } from '../../../settings/settings.ts'
import { audit } from '../../api/audit.ts'
import { takeStreams } from '../../api/body-stream.ts'
import { unavailable, writeConditionally } from '../../api/conditional-write.ts'
import { type ApiRequest, addPath, operation } from '../../api/operation.ts'
import { nextShape, type Page, pageShape } from '../../api/pagination.ts'
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

const listShape = z.strictObject({
  limit: pageShape.shape.limit,
  cursor: idShape.optional().describe('`next` of the previous page.'),
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
          body: z.strictObject({ items: z.array(syncShape), next: nextShape }),
        },
      },
      handle({ query }) {
        const { items, next } = newest(syncs, query)
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

type Listed = z.infer<typeof listShape>

/** Expired syncs are the oldest, so nothing follows a cursor that is unknown. */
function newest(syncs: ReadonlyMap<string, Sync>, { limit, cursor, ...of }: Listed): Page<Sync> {
  const last = syncs.get(cursor ?? '')
  if (cursor !== undefined && !last) return { items: [], next: null }
  const found = [...syncs.values()]
    .filter((sync) => isOf(sync, of) && (!last || inOrder(last, sync) < 0))
    .toSorted(inOrder)
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
}

const isOf = ({ of }: Sync, { audienceId, traitId }: Pick<Listed, 'audienceId' | 'traitId'>) =>
  (audienceId === undefined || (of.kind === 'audience' && of.id === audienceId)) &&
  (traitId === undefined || (of.kind === 'trait' && of.id === traitId))

/** Newest first, then by id. */
function inOrder(one: Sync, other: Sync): number {
  const [left, right] = [placeOf(one), placeOf(other)]
  return left < right ? 1 : left > right ? -1 : 0
}

const placeOf = ({ createdAt, id }: Sync) => `${createdAt} ${id}`

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
