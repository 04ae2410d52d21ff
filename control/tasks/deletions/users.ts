import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Logger } from '../../../process/log.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { suppressions as suppressionResource } from '../../../settings/resources/suppressions.ts'
import { EVERY_SOURCE, type Suppression } from '../../../settings/settings.ts'
import { suppressionId } from '../../../settings/suppression-list.ts'
import { type SearchParts, searchRefusal } from '../../activity/records/following.ts'
import { idField } from '../../activity/records/query-fields.ts'
import { addPath, operation } from '../../api/operation.ts'
import type { Tasks } from '../task-table.ts'
import { deletionResponse, deletionResponseShape } from './routes.ts'

export type UserRouteParts = {
  settings: Pick<Facts, 'sources' | 'suppressions'>
  tasks: Pick<Tasks, 'pending'>
  tokenLimits: SearchParts['tokenLimits']
  log: Pick<Logger, 'info'>
}

const queryShape = z.strictObject({ userId: idField })

const userShape = z
  .strictObject({
    userId: z.string(),
    suppressions: z
      .array(suppressionResource.responseShape)
      .describe('Suppressions of the user, for all sources or for one that exists.'),
    deletions: z
      .array(deletionResponseShape)
      .describe(
        'Deletions of the user that are not done yet. Done ones have no user ids: `GET /api/events` finds their events of type `delete`.',
      ),
  })
  .meta({ id: 'User' })

export function userRoutes(
  api: FastifyInstance,
  { settings, tasks, tokenLimits, log }: UserRouteParts,
): void {
  addPath(api, '/users', {
    GET: operation({
      summary: 'Show whether a user is suppressed or about to be deleted',
      query: queryShape,
      responses: { 200: { description: 'The user, known or not.', body: userShape } },
      errorCodes: ['too_many_searches'],
      handle({ query: { userId }, caller }) {
        const refused = searchRefusal(caller, { tokenLimits, log })
        if (refused) return refused
        const deletions = [...tasks.pending.values()]
          .filter((task) => task.kind === 'deletion')
          .filter(({ userIds }) => userIds.includes(userId))
        const body: z.infer<typeof userShape> = {
          userId,
          suppressions: suppressionsOf(userId, settings),
          deletions: deletions.map(deletionResponse),
        }
        return { status: 200, body }
      },
    }),
  })
}

/** Ids are made from source and user, so no search is necessary. */
const suppressionsOf = (
  userId: string,
  { sources, suppressions }: UserRouteParts['settings'],
): Suppression[] =>
  [EVERY_SOURCE, ...sources.keys()].flatMap(
    (sourceId) => suppressions.get(suppressionId({ sourceId, userId })) ?? [],
  )
