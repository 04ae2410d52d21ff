import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Logger } from '../../../process/log.ts'
import { faultsOf } from '../../../settings/faults.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { visibleTo } from '../../../settings/resources/workspaces.ts'
import { idShape } from '../../../settings/settings.ts'
import { audit } from '../audit.ts'
import { type ApiRequest, addPath, json, operation } from '../operation.ts'
import { type ApiResponse, invalid, isoTime, refusalResponse, timeShape } from '../response.ts'
import { SESSION_S, type Sessions } from './sessions.ts'

export type WorkspaceTokenParts = {
  sessions: Pick<Sessions, 'issue'>
  settings: Pick<Facts, 'sources' | 'destinations'>
  log: Pick<Logger, 'info'>
}

const HOUR_S = 60 * 60

const bodyShape = z
  .strictObject({
    expiresIn: z
      .number()
      .int()
      .min(60)
      .max(SESSION_S)
      .default(HOUR_S)
      .describe('How long the token is valid, in seconds: from a minute to 12 hours. Default: an hour.'),
  })
  .prefault({})
  .meta({ id: 'NewWorkspaceToken' })

const tokenShape = z
  .strictObject({
    workspaceId: idShape,
    token: z.string().describe('Send it as `Authorization: Bearer`, or sign in with it.'),
    expiresAt: timeShape,
  })
  .meta({ id: 'WorkspaceToken' })

export function workspaceTokenRoutes(api: FastifyInstance, parts: WorkspaceTokenParts): void {
  addPath(api, '/workspaces/:id/tokens', {
    POST: operation({
      summary: 'Create a token for a workspace',
      description:
        'With it, a customer can manage the destinations of the workspace, and see their deliveries and sources. `DELETE /api/session` with the token ends it. A new `CONTROL_TOKEN` ends all workspace tokens.',
      body: json(bodyShape, false),
      responses: { 201: { description: 'The token. It is not stored.', body: tokenShape } },
      errorCodes: ['not_found'],
      handle: (request) => issueToken(request, parts),
    }),
  })
}

function issueToken(
  { params: { id: workspaceId }, body, caller }: ApiRequest,
  { sessions, settings, log }: WorkspaceTokenParts,
): ApiResponse {
  const given = bodyShape.safeParse(body, { reportInput: true })
  if (!given.success) return invalid(faultsOf(given.error, bodyShape))
  const { sources, destinations } = settings
  // the name may be misspelled
  const isUsed = visibleTo({ workspaceId }, sources).size + visibleTo({ workspaceId }, destinations).size > 0
  if (!isUsed) return refusalResponse({ code: 'not_found', what: `workspace ${workspaceId}` })
  const now = Date.now()
  const until = Math.floor(now / 1000) + given.data.expiresIn
  const { text, session } = sessions.issue({ who: 'workspace', workspaceId }, { now, until })
  audit(log, caller, { what: 'token', outcome: 'created', id: workspaceId, token: session.id })
  const expiresAt = isoTime(session.until * 1000)
  return { status: 201, body: { workspaceId, token: text, expiresAt } }
}
