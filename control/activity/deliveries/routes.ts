import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { request } from '../../../delivery/request.ts'
import type { Logger } from '../../../process/log.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { MASK, mask, type Who } from '../../../settings/mask.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import type { Destination } from '../../../settings/settings.ts'
import type { Caller } from '../../api/auth/tokens.ts'
import { addPath, operation } from '../../api/operation.ts'
import { pageOf } from '../../api/pagination.ts'
import { type ApiResponse, isoTime, refusalResponse, timeShape } from '../../api/response.ts'
import { type AttemptRouteParts, attemptResponse, attemptShape } from '../attempts.ts'
import { deadResponse, deadShape, letterId } from '../dead/dead-letter.ts'
import type { DeadRouteParts } from '../dead/routes.ts'
import { DELIVERY_STATES, OPEN } from '../events/delivery-status.ts'
import { faultShape, type LogFaults, relevantFaults } from '../lag/log-faults.ts'
import {
  answered,
  searchForUser,
  tooManySearches,
  unreachable,
  type ViewerLimit,
} from '../records/following.ts'
import { shownBody, shownEvent } from '../records/shown-body.ts'
import { type DeliveriesQuery, deliveriesQueryShape, entryOf, type Listed } from './listed.ts'
import type { DeliverySearch } from './search.ts'
import { type Status, type StatusParts, statusesOf, statusFilter } from './status.ts'

export type DeliveryRouteParts = Pick<AttemptRouteParts, 'attempts'> &
  Pick<DeadRouteParts, 'dead' | 'tokenLimits'> &
  Pick<StatusParts, 'trace' | 'ladder'> & {
    deliveries: DeliverySearch
    settings: Pick<Facts, 'destinations'>
    faults: Pick<LogFaults, 'all'>
    log: Pick<Logger, 'warn' | 'info'>
  }

const listedFields = {
  id: z.string().describe('Names this entry in `GET /api/deliveries/{id}` and in replays.'),
  deliveryId: z.string().describe('As in `X-Delivery-Id`. A replay keeps it, but has an entry of its own.'),
  messageId: z.string().describe('Id of the call, as in `X-Message-Id`.'),
  sourceId: z.string(),
  destinationId: z.string(),
  type: z.string(),
  event: z.string().nullable().describe('Name of a track event, a page or a screen.'),
  user: z.string().nullable().describe('The userId, or else the anonymousId.'),
  routedAt: timeShape.describe('When the router, a replay or a backfill made it.'),
  replay: z.boolean().describe('Whether a replay or backfill made it.'),
  state: z
    .enum(DELIVERY_STATES)
    .describe(
      '`waiting`: not attempted yet. `deferred`: waits without an attempt. `held`: it fell due while its destination was paused. `rejected`: the receiver answered 3xx or 4xx. `unknown`: its attempts are no longer known, or were not found in time.',
    ),
  attemptCount: z
    .number()
    .describe(
      'Known POSTs to all webhooks. At least the number of the last attempt, because earlier ones may be forgotten.',
    ),
  lastStatus: z.number().nullable().describe('HTTP status of the last attempt, if there was a response.'),
  lastCode: z.string().nullable().describe('Why the last attempt failed.'),
  lastAttemptAt: timeShape,
  deadLetter: z
    .string()
    .nullable()
    .describe('Id of its dead letter, for `entries` of a replay. Null: none is known.'),
  nextAttemptAt: timeShape.describe(
    'By the retry ladder. Null: no attempt follows, or the delivery is deferred or held and only the deliverer knows until when.',
  ),
}

const listedShape = z.strictObject(listedFields).meta({ id: 'Delivery' })

const deliveryShape = z
  .strictObject({
    ...listedFields,
    attempts: z.array(attemptShape).describe('Known attempts, oldest first.'),
    dead: deadShape.nullable(),
    body: z
      .string()
      .describe(
        'What every attempt posts, byte for byte. With the view token, the texts of a shape are `***`.',
      ),
    requests: z
      .array(
        z.strictObject({ urlIndex: z.number(), url: z.string(), headers: z.record(z.string(), z.string()) }),
      )
      .describe(
        'The request to each webhook, with the settings as they are now. Configured header values and signatures are `***`. Empty if the destination was deleted.',
      ),
  })
  .meta({ id: 'DeliveryDetails' })

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
      handle: ({ params: { id }, who }) => answered(sources, () => show(id, who, parts), onFailed),
    }),
  })
}

type Listing = DeliveryRouteParts & { caller: Caller }

async function list(query: DeliveriesQuery, parts: Listing): Promise<ApiResponse> {
  const held = { ...parts, now: Date.now() }
  const known = new Map<Listed, Status>()
  const filter = statusFilter(query)
  let unknown = 0

  /** Looks up each state once. */
  async function lookUp(listed: readonly Listed[]): Promise<[Listed, Status][]> {
    const statuses = [...(await statusesOf(listed, held))]
    for (const [each, status] of statuses) if (filter?.(status) ?? true) known.set(each, status)
    return statuses
  }

  async function select(listed: readonly Listed[]): Promise<ReadonlySet<Listed>> {
    const statuses = await lookUp(listed)
    unknown += statuses.filter(([each, { state }]) => state === 'unknown' && !known.has(each)).length
    return new Set(listed.filter((each) => known.has(each)))
  }

  const begin = () => parts.deliveries.search(query, filter && select)
  const searching = searchForUser(parts.caller, parts, begin, query)
  if (!searching) return tooManySearches
  const { items, next, searchedSince } = await searching
  if (!filter) await lookUp(items)
  // states of dead letters are known without their attempts, which may be too old to be in memory
  const unexplained = items.filter((each) => known.get(each)?.dead && known.get(each)?.attempts.length === 0)
  for (const [each, { attempts }] of await statusesOf(unexplained, held, true)) {
    const status = known.get(each)
    if (status) known.set(each, { ...status, attempts })
  }
  const shown = items.flatMap((each) => {
    const status = known.get(each)
    return status ? [{ each, status }] : []
  })
  const { destinations } = parts.settings
  const event = (each: Listed) =>
    shownEvent(each.event, destinations.get(each.destinationId), parts.caller.who)
  const open = shown.filter(({ status: { state } }) => OPEN.has(state)).map(({ each }) => each.routedAt)
  return {
    status: 200,
    body: {
      items: shown.map(({ each, status }) => listedResponse({ ...each, event: event(each) }, status)),
      next,
      searchedSince: isoTime(searchedSince),
      unknown,
      faults: relevantFaults(parts.faults.all(), {
        since: query.since,
        openSince: open.length === 0 ? undefined : Math.min(...open),
      }),
    },
  }
}

async function show(id: string, who: Who, parts: DeliveryRouteParts): Promise<ApiResponse> {
  const entry = entryOf(id)
  const found = entry && (await parts.deliveries.read(entry))
  if (!found) return refusalResponse({ code: 'not_found', what: `delivery ${id}` })
  const { listed, delivery } = found
  const now = Date.now()
  const statuses = await statusesOf([listed], { ...parts, now }, true)
  const status = statuses.get(listed)
  if (!status) return unreachable
  const destination = parts.settings.destinations.get(listed.destinationId)
  const { attempts, dead } = status
  const attempt = attempts.at(-1)?.attempt ?? 1
  return {
    status: 200,
    body: {
      ...listedResponse({ ...listed, event: shownEvent(listed.event, destination, who) }, status),
      attempts: attempts.map(attemptResponse),
      dead: dead ? deadResponse(dead) : null,
      body: shownBody(delivery, destination, who),
      requests: destination ? maskedRequests(delivery, { destination, attempt, now, who }) : [],
    },
  }
}

function listedResponse(
  listed: Listed,
  { state, attempts, nextAttemptAt, dead }: Status,
): z.infer<typeof listedShape> {
  const last = attempts.at(-1)
  return {
    ...listed,
    routedAt: isoTime(listed.routedAt),
    state,
    attemptCount: postCount(attempts),
    lastStatus: last?.status ?? null,
    lastCode: last?.code ?? null,
    lastAttemptAt: last ? isoTime(last.startedAt) : null,
    deadLetter: dead ? letterId(dead) : null,
    nextAttemptAt: isoTime(nextAttemptAt),
  }
}

/** Earlier POSTs may no longer be in memory. The number of a later one still counts those to one webhook. */
function postCount(attempts: readonly Attempt[]): number {
  const posts = attempts.filter(({ outcome }) => outcome !== 'deferred' && outcome !== 'cancelled')
  return Math.max(posts.length, ...posts.map(({ attempt }) => attempt))
}

const SIGNATURES = new Set(['x-signature', 'x-signature-previous', 'webhook-signature'])

/**
 * Built by the code that sends them.
 * @param of.attempt as in `X-Attempt`.
 */
function maskedRequests(
  delivery: Delivery,
  { destination, who, ...of }: { destination: Destination; attempt: number; now: number; who: Who },
): z.infer<typeof deliveryShape>['requests'] {
  const masked = mask(destination, who)
  return masked.webhooks.map((_, urlIndex) => {
    const { url, headers } = request(delivery, { destination: masked, urlIndex, ...of })
    const shown = Object.entries(headers).map(([name, value]) => [
      name,
      SIGNATURES.has(name.toLowerCase()) ? MASK : value,
    ])
    return { urlIndex, url, headers: Object.fromEntries(shown) }
  })
}
