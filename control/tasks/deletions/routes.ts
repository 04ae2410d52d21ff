import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import type { Logger } from '../../../process/log.ts'
import { type Deletion, deletionTask } from '../../../schemas/task.ts'
import type { Settings } from '../../../settings/follow.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { audit } from '../../api/audit.ts'
import { unavailable, writeConditionally } from '../../api/conditional-write.ts'
import { type ApiRequest, addPath, json, operation } from '../../api/operation.ts'
import { pageOf, pageOfTasks, tasksPageShape } from '../../api/pagination.ts'
import { type ApiResponse, refusalResponse } from '../../api/response.ts'
import { type Tasks, taskRecord } from '../task-table.ts'
import { decideDeletion, deletionShape } from './decide.ts'

export type DeletionRouteParts = {
  settings: Pick<Facts, 'sources' | 'destinations' | 'unreadable'> & {
    table: Pick<Settings['table'], 'caughtUp'>
  }
  tasks: Pick<Tasks, 'deletions' | 'table'>
  taskWriter: Pick<FencedWriter, 'write'>
  log: Logger
}

export const deletionResponseShape = deletionTask
  .omit({ kind: true, userIds: true, suppressedFor: true, salt: true })
  .extend({ suppressed: z.boolean() })
  .strict()
  .meta({ id: 'Deletion' })

export function deletionRoutes(api: FastifyInstance, parts: DeletionRouteParts): void {
  const { deletions } = parts.tasks
  addPath(api, '/deletions', {
    GET: operation({
      summary: 'List deletions',
      query: tasksPageShape,
      responses: {
        200: { description: 'A page.', body: pageOf(deletionResponseShape) },
      },
      handle({ query }) {
        const { items, next } = pageOfTasks(deletions.values(), query)
        return { status: 200, body: { items: items.map(deletionResponse), next } }
      },
    }),
    POST: operation({
      summary: 'Delete users at every destination',
      description:
        'Sends an event of type `delete` for each user and each source that has an enabled destination.',
      body: json(deletionShape),
      responses: {
        202: {
          description: 'The deletion is stored in Kafka and will be carried out.',
          body: deletionResponseShape,
          headers: ['location'],
        },
      },
      errorCodes: ['id_taken'],
      handle: (request) => create(request, parts),
    }),
  })
  addPath(api, '/deletions/:id', {
    GET: operation({
      summary: 'Show a deletion',
      responses: {
        200: { description: 'The deletion, without the ids of its users.', body: deletionResponseShape },
      },
      errorCodes: ['not_found'],
      handle({ params: { id } }) {
        const deletion = deletions.get(id)
        if (!deletion) return refusalResponse({ code: 'not_found', what: `deletion ${id}` })
        return { status: 200, body: deletionResponse(deletion) }
      },
    }),
  })
}

/** Responds once the request is in Kafka. */
async function create({ body, caller }: ApiRequest, parts: DeletionRouteParts): Promise<ApiResponse> {
  const { settings, tasks, taskWriter: writer, log } = parts
  const made = { id: randomUUID(), now: new Date().toISOString(), salt: randomUUID() }
  let decidedId: string | undefined
  const outcome = await writeConditionally(
    { tables: [settings.table, tasks.table], writer, log },
    {
      decide() {
        const decided = decideDeletion({ body, facts: settings, deletions: tasks.deletions, made })
        if ('task' in decided) decidedId = decided.task.id
        return decided
      },
      records: ({ task }) => [taskRecord(task)],
    },
  )
  if (outcome === 'unavailable') {
    audit(log, caller, { what: 'deletion', outcome, id: decidedId })
    return unavailable
  }
  if ('refusal' in outcome) return refusalResponse(outcome.refusal)
  const { id, users, deletes, sourceIds, suppressedFor } = outcome.task
  const suppressed = suppressedFor.length > 0
  audit(log, caller, { what: 'deletion', outcome: 'created', id, users, deletes, sourceIds, suppressed })
  return { status: 202, headers: { location: `/api/deletions/${id}` }, body: deletionResponse(outcome.task) }
}

/** Leaves out user ids, which the requester has, and what makes message ids unguessable. */
export function deletionResponse({
  kind: _,
  userIds: __,
  salt: ___,
  suppressedFor,
  ...rest
}: Deletion): z.infer<typeof deletionResponseShape> {
  return { ...rest, suppressed: suppressedFor.length > 0 }
}
