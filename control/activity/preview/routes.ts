import type { FastifyInstance } from 'fastify'
import { render } from '../../../delivery/render.ts'
import { hashKeyOf } from '../../../delivery/routing/compiled-rules.ts'
import { isObject } from '../../../process/json-objects.ts'
import { pointer } from '../../../process/json-pointer.ts'
import type { Logger } from '../../../process/log.ts'
import { compileRules } from '../../../rules/compile.ts'
import { rulesFaults } from '../../../rules/faults.ts'
import { type Fault, faultsOf } from '../../../settings/faults.ts'
import { unread } from '../../../settings/resources/decide.ts'
import { type Facts, unknownSource } from '../../../settings/resources/resource.ts'
import { visibleTo } from '../../../settings/resources/workspaces.ts'
import type { Caller } from '../../api/auth/tokens.ts'
import { type ApiRequest, addOperations, json, operation } from '../../api/operation.ts'
import { type ApiResponse, invalid, refusalResponse } from '../../api/response.ts'
import { answered, tooManySearches, type ViewerLimit } from '../records/following.ts'
import {
  type EventsBySource,
  type PreviewRequest,
  previewAnswer,
  previewOf,
  previewShape,
} from './preview.ts'

export type PreviewRouteParts = {
  latestEvents: EventsBySource
  settings: Pick<Facts, 'sources' | 'destinations' | 'unreadable'>
  log: Pick<Logger, 'warn' | 'info'>
}

type Parts = PreviewRouteParts & { limitViewers: ViewerLimit }

export function previewRoute(api: FastifyInstance, parts: Parts): void {
  // GET, PUT and DELETE belong to the destination with the id `preview`
  addOperations(api, '/destinations/preview', {
    POST: operation({
      summary: 'Try rules on recent events',
      description:
        'Runs rules on the newest events of some sources and says what the router would do with each. Nothing is sent or stored. The search reads topics on demand, for at most 3 s. Then the rules run for at most 2 s.',
      body: json(previewShape),
      responses: { 200: { description: 'The events, newest first.', body: previewAnswer } },
      errorCodes: ['setting_unreadable', 'too_many_searches'],
      inWorkspace: true,
      handle: (request) => preview(request, parts),
    }),
  })
}

async function preview({ body, caller }: ApiRequest, parts: Parts): Promise<ApiResponse> {
  const { latestEvents, limitViewers, log } = parts
  const settings = factsFor(caller, parts.settings)
  const parsed = previewShape.safeParse(body, { reportInput: true })
  if (!parsed.success) {
    const rules = isObject(body) ? rulesFaults(body.rules, ['rules']) : []
    return invalid([...faultsOf(parsed.error, previewShape), ...rules])
  }
  const asked = parsed.data
  const { rules, destinationId } = asked
  const refusal =
    destinationId === undefined ? undefined : unread({ kind: 'destination' }, destinationId, settings)
  if (refusal) return refusalResponse(refusal)
  const faults = faultsIn(asked, settings)
  if (faults.length > 0) return invalid(faults)
  const hashKey = destinationId === undefined ? undefined : settings.destinations.get(destinationId)?.hashKey
  const search = async (): Promise<ApiResponse> => {
    const searching = latestEvents.latest(asked)
    if (!searching) return tooManySearches
    const body = await previewOf(await searching, compileRules(rules, hashKeyOf(hashKey), render))
    return { status: 200, body }
  }
  return answered(
    [],
    () => limitViewers(caller.who, search),
    (err) => log.warn({ err }, 'events could not be searched'),
  )
}

/** With a workspace token, other workspaces' records do not exist. */
function factsFor(caller: Caller, facts: PreviewRouteParts['settings']): PreviewRouteParts['settings'] {
  if (caller.workspaceId === undefined) return facts
  return {
    sources: visibleTo(caller, facts.sources),
    destinations: visibleTo(caller, facts.destinations),
    unreadable: new Map(),
  }
}

function faultsIn(
  { rules, sourceIds, destinationId }: PreviewRequest,
  settings: PreviewRouteParts['settings'],
): Fault[] {
  const unknown = sourceIds.flatMap((id, index) =>
    unknownSource(id, { facts: settings, path: ['sourceIds', index] }),
  )
  const faults = [...rulesFaults(rules, ['rules']), ...unknown]
  if (destinationId === undefined || settings.destinations.has(destinationId)) return faults
  const message = `there is no destination ${destinationId}: leave it out for a random key`
  return [...faults, { pointer: pointer(['destinationId']), code: 'unknown_destination', message }]
}
