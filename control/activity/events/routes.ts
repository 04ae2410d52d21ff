import type { FastifyInstance } from 'fastify'
import type { Ladder } from '../../../delivery/ladder.ts'
import { deliveryId } from '../../../delivery/routing/routing.ts'
import type { Logger } from '../../../process/log.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import type { Caller } from '../../api/auth/tokens.ts'
import { addPath, operation } from '../../api/operation.ts'
import { pageOf } from '../../api/pagination.ts'
import { type ApiResponse, isoTime, problem, timeShape } from '../../api/response.ts'
import type { AttemptRouteParts } from '../attempts.ts'
import type { DeadRouteParts } from '../dead/routes.ts'
import { faultShape, type LogFaults, relevantFaults } from '../lag/log-faults.ts'
import { answered, searchForUser, tooManySearches, type ViewerLimit } from '../records/following.ts'
import { type DeliveryStatus, deliveryStatus, isMissing, type Kept, OPEN } from './delivery-status.ts'
import { eventResponse, eventShape, rejectionResponse } from './event-response.ts'
import { type History, historyOf, namedBy } from './history.ts'
import { createKeptSearch, type KeptSearch } from './kept-search.ts'
import { type EventsQuery, eventsQueryShape } from './matches.ts'
import type { EventSearch } from './search.ts'
import { MAX_ATTEMPTS, mergeAttempts, type Trace } from './trace.ts'

export type EventRouteParts = AttemptRouteParts &
  DeadRouteParts & {
    events: EventSearch
    trace: Trace
    settings: Pick<Facts, 'sources' | 'destinations'>
    ladder: Ladder
    faults: Pick<LogFaults, 'all'>
    log: Pick<Logger, 'warn' | 'info'>
    keptSearch?: KeptSearch
  }

const answerShape = pageOf(eventShape).extend({
  searchedSince: timeShape.describe(
    'Everything received since then has been searched; null: everything. If there is a `next`, older calls may follow.',
  ),
  faults: faultShape
    .array()
    .describe(
      'Records that Kafka lost or removed, which may explain why a call is not found (topic `events`) or why a delivery does not go on (other topics). As in `GET /api/lag`.',
    ),
})

const rulesTakeTooLong = problem(
  {
    code: 'unavailable',
    message:
      'The rules of the destinations take too long for so many calls: ask for fewer at once (limit), or for one destination (destinationId)',
  },
  { 'retry-after': '5' },
)

type Parts = EventRouteParts & { limitViewers: ViewerLimit }

export function eventRoutes(api: FastifyInstance, parts: Parts): void {
  const { keptSearch = createKeptSearch() } = parts
  addPath(api, '/events', {
    GET: operation({
      summary: 'Find calls and the status of their deliveries',
      description:
        'Accepted and rejected calls, newest first. Each shows the destinations that it goes to by the current settings, and the status there. The search reads topics on demand, for at most 3 s a request; use `next` to continue.',
      query: eventsQueryShape,
      responses: {
        200: { description: 'A page. It may be empty and still have a `next`.', body: answerShape },
      },
      errorCodes: ['too_many_searches'],
      handle({ query, caller }) {
        return answered(
          [parts.attempts, parts.dead],
          () => parts.limitViewers(caller.who, () => respond(query, { ...parts, keptSearch, caller })),
          (err) => parts.log.warn({ err }, 'events could not be searched'),
        )
      },
    }),
  })
}

type Responding = EventRouteParts & { keptSearch: KeptSearch; caller: Caller }

async function respond(query: EventsQuery, parts: Responding): Promise<ApiResponse> {
  const { events, settings } = parts
  const named = query.deliveryId === undefined ? undefined : namedBy(query.deliveryId, parts)
  const connected = connectedTo(settings.destinations)
  const more = [named?.destinationId, query.destinationId].filter((id) => id !== undefined)
  const destinationsOf = (sourceId: string) => [...connected(sourceId), ...more]
  const asked = {
    ...query,
    messageId: query.messageId ?? named?.messageId,
    sourceId: query.sourceId ?? named?.sourceId,
  }
  const begin = () => events.search(asked, destinationsOf)
  const searching = searchForUser(parts.caller, parts, begin, query)
  if (!searching) return tooManySearches
  const { items, next, searchedSince } = await searching
  const statuses = await statusesOf(
    items.flatMap((item) => ('event' in item ? item.event : [])),
    query.destinationId,
    parts,
  )
  if (statuses === 'too_many') return tooManySearches
  if (statuses === 'too_long') return rulesTakeTooLong
  return {
    status: 200,
    body: {
      items: items.map((item) =>
        'event' in item
          ? eventResponse(item.event, statuses.get(item.event) ?? [])
          : rejectionResponse(item, settings.sources.get(item.rejected.sourceId)),
      ),
      next,
      searchedSince: isoTime(searchedSince),
      faults: relevantFaults(parts.faults.all(), { since: query.since, openSince: openSince(statuses) }),
    },
  }
}

/** @returns when the oldest event with an open delivery was received. */
function openSince(statuses: Statuses): number | undefined {
  const open = [...statuses].filter(([, of]) => of.some(({ state }) => OPEN.has(state)))
  return open.length === 0 ? undefined : Math.min(...open.map(([{ receivedAt }]) => receivedAt))
}

/** Includes disabled destinations. */
function connectedTo(destinations: Facts['destinations']): (sourceId: string) => readonly string[] {
  const known = new Map<string, string[]>()
  return (sourceId) => {
    const found =
      known.get(sourceId) ??
      [...destinations.values()].filter(({ sourceIds }) => sourceIds.includes(sourceId)).map(({ id }) => id)
    known.set(sourceId, found)
    return found
  }
}

type Statuses = Map<Event, DeliveryStatus[]>

/** For the given destination, or for all that are connected to the event's source or were attempted. */
async function statusesOf(
  events: readonly Event[],
  destinationId: string | undefined,
  { settings, ladder, attempts, dead, trace, keptSearch }: Responding,
): Promise<Statuses | 'too_many' | 'too_long'> {
  const history = historyOf(events, { attempts, dead, now: Date.now() })
  const connected = connectedTo(settings.destinations)
  const { knownSince } = history
  const facts = { history, settings, ladder }
  const sharing = Map.groupBy(events, ({ messageId }) => messageId)

  const keptBy = await keptSearch(events, settings.destinations, (event) =>
    destinationId
      ? [destinationId]
      : [...new Set([...connected(event.sourceId), ...history.destinationsOf(event)])],
  )
  if (typeof keptBy === 'string') return keptBy

  const statuses = (traced?: Map<string, Attempt[]>): Statuses =>
    new Map(
      events.map((event) => {
        const kept = [...(keptBy.get(event) ?? [])]
        // these calls share their deliveries, so they share the attempts shown
        const most = Math.ceil(MAX_ATTEMPTS / (sharing.get(event.messageId)?.length ?? 1))
        const of = kept.map(([to, each]) => statusOf(event, { to, kept: each, traced }, facts))
        return [event, of.map((each) => ({ ...each, attempts: each.attempts.slice(-most) }))]
      }),
    )

  const first = statuses()
  const incomplete = [...first].flatMap(([{ receivedAt }, of]) =>
    of.filter((each) => isMissing(each, receivedAt, knownSince)).map((each) => ({ ...each, receivedAt })),
  )
  return incomplete.length === 0 ? first : statuses(await trace(incomplete, knownSince))
}

/** `to`: a destination. `traced`: attempts by delivery, beside those in memory. */
type Asked = { to: string; kept: Kept; traced: ReadonlyMap<string, Attempt[]> | undefined }

function statusOf(
  event: Event,
  { to, kept, traced }: Asked,
  { history, settings, ladder }: Pick<Responding, 'settings' | 'ladder'> & { history: History },
): DeliveryStatus {
  const id = deliveryId(to, event)
  const { attempts, dead } = history.of(id)
  const { updatedAt } = settings.destinations.get(to) ?? {}
  const known = {
    destinationId: to,
    kept,
    changedAt: updatedAt === undefined ? undefined : Date.parse(updatedAt),
    attempts: mergeAttempts(traced?.get(id) ?? [], attempts),
    dead,
    knownSince: history.knownSince,
  }
  return deliveryStatus(event, known, ladder)
}
