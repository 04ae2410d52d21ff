import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Facts } from '../../../settings/resources/resource.ts'
import { visibleRecord, visibleTo } from '../../../settings/resources/workspaces.ts'
import type { Destination } from '../../../settings/settings.ts'
import { addPath, operation } from '../../api/operation.ts'
import { isoTime, refusalResponse, timeShape } from '../../api/response.ts'
import type { AttemptRouteParts } from '../attempts.ts'
import type { DeadRouteParts } from '../dead/routes.ts'
import { type IngestRouteParts, ingestRateOf } from '../figures/ingest-rate.ts'
import { areLoadedSoon, loading, unreachable } from '../records/following.ts'
import { serveBroadcast } from '../stream/broadcast.ts'
import { STREAM, streamed } from '../stream/response.ts'
import { BREAKER_STATES } from './breakers.ts'
import { type DestinationHealth, type Health, WEBHOOK_STATES, type WebhookHealth } from './health.ts'

export type HealthRouteParts = AttemptRouteParts &
  DeadRouteParts &
  IngestRouteParts & {
    health: Pick<Health, 'of' | 'lastMinute'>
    settings: Pick<Facts, 'destinations'>
  }

export function healthRoutes(api: FastifyInstance, parts: HealthRouteParts): void {
  const { health, ingestRate, settings } = parts
  const { destinations } = settings
  const isLoaded = () => areLoadedSoon([parts.attempts, parts.dead])
  const isFresh = () => parts.attempts.isFresh() && parts.dead.isFresh()
  const overview = (of = destinations) => (isFresh() ? overviewResponse(of, health) : undefined)
  const broadcast = serveBroadcast(api, { health: () => overview(), ingest: () => ingestRateOf(ingestRate) })

  addPath(api, '/health', {
    GET: operation({
      summary: 'Show the health of all destinations',
      description:
        'Counts cover the last minute. 503 if the results of deliveries could not be read for 30 s.',
      responses: { 200: { description: 'Health of each destination.', body: overviewShape } },
      inWorkspace: true,
      async handle({ caller }) {
        if (!(await isLoaded())) return loading
        const body = overview(visibleTo(caller, destinations))
        return body ? { status: 200, body } : unreachable
      },
    }),
  })
  addPath(api, '/health/stream', {
    GET: operation({
      summary: 'Watch the health of all destinations, and the rate of incoming calls',
      description:
        'Server-sent events `health` (as `GET /api/health`) and `ingest` (as `GET /api/ingest`), at once and then on every change, at most every 2 s. `unavailable` means that one of them is not known right now.',
      responses: { 200: STREAM },
      errorCodes: ['too_many_watchers'],
      handle: async (request) => ((await isLoaded()) ? streamed(request, broadcast) : loading),
    }),
  })
  addPath(api, '/destinations/:id/health', {
    GET: operation({
      summary: 'Show the health of a destination',
      description:
        'The last hour by minute, the last minute, and each webhook with its breaker and last error.',
      responses: { 200: { description: "The destination's health.", body: healthShape } },
      errorCodes: ['not_found'],
      inWorkspace: true,
      async handle({ params: { id }, caller }) {
        const destination = visibleRecord(caller, destinations, id)
        if (!destination) return refusalResponse({ code: 'not_found', what: `destination ${id}` })
        if (!(await isLoaded())) return loading
        return isFresh() ? { status: 200, body: healthResponse(health.of(destination)) } : unreachable
      },
    }),
  })
}

const count = z.number().int().nonnegative()
const duration = z.number().nullable().describe('ms, accurate to an eighth; null: no POST was made.')
const durations = { p50: duration, p99: duration }
const breaker = z.enum(BREAKER_STATES)
const state = z.enum(WEBHOOK_STATES)

const minuteShape = z.strictObject({
  at: timeShape,
  delivered: count.describe(
    'POSTs answered with 2xx. `rejected`, `retry`, `refused` and `deferred` count POSTs as well.',
  ),
  rejected: count.describe('POSTs answered with 3xx or 4xx.'),
  retry: count,
  refused: count,
  deferred: count,
  dead: count.describe('Deliveries given up.'),
  ...durations,
})

const nowFields = {
  delivered: count.describe('In the last minute, like the other counts.'),
  rejected: count,
  retry: count,
  refused: count,
  deferred: count,
  dead: count,
  ...durations,
}

const errorShape = z.strictObject({
  code: z.string().nullable(),
  status: z.number().nullable(),
  at: timeShape,
  response: z.string().nullable(),
})

const healthShape = z
  .strictObject({
    minutes: z.array(minuteShape).describe('The last sixty minutes; the current one comes last.'),
    now: z.strictObject(nowFields),
    endpoints: z.array(
      z.strictObject({
        urlIndex: z.number(),
        state: state.describe(
          '`rejecting`: the latest POSTs were answered with 3xx or 4xx; `failing`: the breaker is open, or the latest POSTs got no response, a 5xx or a status in `retryOn`, or were refused; `paused`: the destination is paused or off; `idle`: nothing was sent in the last 15 minutes.',
        ),
        breaker,
        since: timeShape.describe('When the breaker opened or closed, if that was seen.'),
        lastError: errorShape.nullable(),
        lastDeliveredAt: timeShape,
      }),
    ),
  })
  .meta({ id: 'Health' })

const overviewShape = z.strictObject({
  items: z.array(
    z.strictObject({
      destinationId: z.string(),
      ...nowFields,
      breaker: breaker.describe('The worst of its webhooks.'),
      state: state.describe('The worst of its webhooks.'),
      rejectedStatus: z
        .number()
        .nullable()
        .describe('Last status of a rejecting webhook; null if none is rejecting.'),
    }),
  ),
})

function healthResponse({ minutes, now, endpoints }: DestinationHealth): z.infer<typeof healthShape> {
  return {
    minutes: minutes.map(({ at, ...figures }) => ({ at: isoTime(at), ...figures })),
    now,
    endpoints: endpoints.map(webhookResponse),
  }
}

const overviewResponse = (
  destinations: ReadonlyMap<string, Destination>,
  { lastMinute }: Pick<Health, 'lastMinute'>,
): z.infer<typeof overviewShape> => ({
  items: [...destinations.values()].map((destination) => {
    return { destinationId: destination.id, ...lastMinute(destination) }
  }),
})

function webhookResponse({ since, lastError, lastDeliveredAt, ...rest }: WebhookHealth) {
  return {
    ...rest,
    since: isoTime(since),
    lastError: lastError && {
      code: lastError.code,
      status: lastError.status,
      at: isoTime(lastError.startedAt),
      response: lastError.response,
    },
    lastDeliveredAt: isoTime(lastDeliveredAt),
  }
}
