import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Logger } from '../../../process/log.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { seenBy } from '../../../settings/resources/workspaces.ts'
import type { Caller } from '../../api/auth/tokens.ts'
import { addPath, operation } from '../../api/operation.ts'
import { pageOf } from '../../api/pagination.ts'
import { type ApiResponse, isoTime, refusalResponse, timeShape } from '../../api/response.ts'
import type { AttemptRouteParts } from '../attempts.ts'
import type { DeadRouteParts } from '../dead/routes.ts'
import { OPEN } from '../events/delivery-status.ts'
import { faultShape, type LogFaults, relevantFaults } from '../lag/log-faults.ts'
import {
  answered,
  searchForUser,
  tooManySearches,
  unreachable,
  type ViewerLimit,
} from '../records/following.ts'
import { deliveryResponse, deliveryShape, listedResponse, listedShape } from './delivery-response.ts'
import { type DeliveriesQuery, deliveriesQueryShape, entryOf } from './listed.ts'
import type { DeliverySearch } from './search.ts'
import { createStatusLookUp, type StatusParts, statusesOf } from './status.ts'

export type DeliveryRouteParts = Pick<AttemptRouteParts, 'attempts'> &
  Pick<DeadRouteParts, 'dead' | 'tokenLimits'> &
  Pick<StatusParts, 'trace' | 'ladder'> & {
    deliveries: DeliverySearch
    settings: Pick<Facts, 'destinations'>
    faults: Pick<LogFaults, 'all'>
    log: Pick<Logger, 'warn' | 'info'>
  }

const answerShape = pageOf(listedShape).extend({
  searchedSince: timeShape.describe(
    'All deliveries made since then have been searched; null: all that are stored. If there is a `next`, older ones may follow.',
  ),
  unknown: z
    .number()
    .describe('How many deliveries `state` or `status` left out because their attempts are not known.'),
  faults: faultShape.array().describe('Records that Kafka lost or removed. As in `GET /api/lag`.'),
})

type Parts = DeliveryRouteParts & { limitViewers: ViewerLimit }

export function deliveryRoutes(api: FastifyInstance, parts: Parts): void {
  const sources = [parts.attempts, parts.dead]
  const onFailed = (err: unknown) => parts.log.warn({ err }, 'deliveries could not be searched')
  addPath(api, '/deliveries', {
    GET: operation({
      summary: 'List deliveries',
      description:
        'Deliveries of the last three days with their state, newest first. The search reads topics on demand, for about 3 s a request; use `next` to continue.',
      query: deliveriesQueryShape,
      responses: {
        200: { description: 'A page. It may be empty and still have a `next`.', body: answerShape },
      },
      errorCodes: ['too_many_searches'],
      inWorkspace: true,
      handle({ query, caller }) {
        const search = () => list(query, { ...parts, caller })
        return answered(sources, () => parts.limitViewers(caller.who, search), onFailed)
      },
    }),
  })
  addPath(api, '/deliveries/:id', {
    GET: operation({
      summary: 'Show a delivery',
      description:
        'Its request, attempts and next attempt. Take the `id` from an item of `GET /api/deliveries`.',
      responses: { 200: { description: 'The delivery.', body: deliveryShape } },
      errorCodes: ['not_found'],
      inWorkspace: true,
      handle: ({ params: { id }, caller }) =>
        answered(sources, () => show(id, { ...parts, caller }), onFailed),
    }),
  })
}

type Listing = DeliveryRouteParts & { caller: Caller }

async function list(query: DeliveriesQuery, parts: Listing): Promise<ApiResponse> {
  const { deliveries, settings, faults, caller } = parts
  const lookUp = createStatusLookUp(query, { ...parts, now: Date.now() })
  const isSeen = caller.workspaceId === undefined ? undefined : seenBy(caller, settings.destinations)
  const begin = () => deliveries.search(query, { select: lookUp.select, isSeen })
  const searching = searchForUser(caller, parts, begin, query)
  if (!searching) return tooManySearches
  const { items, next, searchedSince } = await searching
  const statuses = await lookUp.of(items)
  const open = statuses.filter(([, { state }]) => OPEN.has(state)).map(([{ routedAt }]) => routedAt)
  return {
    status: 200,
    body: {
      items: statuses.map(([listed, status]) => {
        const destination = settings.destinations.get(listed.destinationId)
        return listedResponse(listed, status, { destination, who: caller.who })
      }),
      next,
      searchedSince: isoTime(searchedSince),
      unknown: lookUp.unknown(),
      // they concern partitions with deliveries of all workspaces
      faults: isSeen
        ? []
        : relevantFaults(faults.all(), {
            since: query.since,
            openSince: open.length === 0 ? undefined : Math.min(...open),
          }),
    },
  }
}

async function show(id: string, parts: Listing): Promise<ApiResponse> {
  const { who } = parts.caller
  const entry = entryOf(id)
  const found = entry && (await parts.deliveries.read(entry))
  if (!found || !seenBy(parts.caller, parts.settings.destinations)(found.listed))
    return refusalResponse({ code: 'not_found', what: `delivery ${id}` })
  const now = Date.now()
  const statuses = await statusesOf([found.listed], { ...parts, now }, true)
  const status = statuses.get(found.listed)
  if (!status) return unreachable
  const destination = parts.settings.destinations.get(found.listed.destinationId)
  return { status: 200, body: deliveryResponse(found, status, { destination, who, now }) }
}
