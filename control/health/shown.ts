import { z } from 'zod'
import type { Destination } from '../../schemas/settings.ts'
import { isoTime, timeShape } from '../http/iso-time.ts'
import { BREAKER_STATES } from './breakers.ts'
import { type DestinationHealth, type EndpointHealth, type Health, WEBHOOK_STATES } from './health.ts'

const count = z.number().int().nonnegative()
const duration = z.number().nullable().describe('ms, to within an eighth; null: no POST was made.')
const durations = { p50: duration, p99: duration }
const breaker = z.enum(BREAKER_STATES)
const state = z.enum(WEBHOOK_STATES)

const minuteShape = z.strictObject({
  at: timeShape,
  delivered: count.describe(
    'POSTs answered with 2xx. Rejected, retry, refused and deferred are counts of POSTs as well.',
  ),
  rejected: count.describe('POSTs answered with 3xx or 4xx.'),
  retry: count,
  refused: count,
  deferred: count,
  dead: count.describe('Deliveries that were given up.'),
  ...durations,
})

const nowFields = {
  delivered: count.describe('A minute, as all of these.'),
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

export const healthShape = z
  .strictObject({
    minutes: z.array(minuteShape).describe('The last sixty; the last one is that of now.'),
    now: z.strictObject(nowFields),
    endpoints: z.array(
      z.strictObject({
        urlIndex: z.number(),
        state: state.describe(
          '`rejecting`: the last answer was 3xx or 4xx; `failing`: the breaker is open, or the last POST got no answer or a 5xx; `paused`: the destination is off; `idle`: nothing was sent in the last 15 minutes.',
        ),
        breaker,
        since: timeShape.describe('When it has opened or closed, as far as that was seen.'),
        lastError: errorShape.nullable(),
        lastDeliveredAt: timeShape,
      }),
    ),
  })
  .meta({ id: 'Health' })

export const overviewShape = z.strictObject({
  items: z.array(
    z.strictObject({
      destinationId: z.string(),
      ...nowFields,
      breaker: breaker.describe('The worst among its webhooks.'),
      state: state.describe('The worst among its webhooks.'),
      rejectedStatus: z
        .number()
        .nullable()
        .describe('Last status of a webhook that rejects; null when none rejects.'),
    }),
  ),
})

export function shownHealth({ minutes, now, endpoints }: DestinationHealth): z.infer<typeof healthShape> {
  return {
    minutes: minutes.map(({ at, ...figures }) => ({ at: isoTime(at), ...figures })),
    now,
    endpoints: endpoints.map(shownEndpoint),
  }
}

/** Of all destinations that there are. */
export const shownOverview = (
  destinations: ReadonlyMap<string, Destination>,
  { lately }: Pick<Health, 'lately'>,
): z.infer<typeof overviewShape> => ({
  items: [...destinations.values()].map((destination) => {
    return { destinationId: destination.id, ...lately(destination) }
  }),
})

function shownEndpoint({ since, lastError, lastDeliveredAt, ...rest }: EndpointHealth) {
  return {
    ...rest,
    since: since === null ? null : isoTime(since),
    lastError: lastError && {
      code: lastError.code,
      status: lastError.status,
      at: isoTime(lastError.startedAt),
      response: lastError.response,
    },
    lastDeliveredAt: lastDeliveredAt === null ? null : isoTime(lastDeliveredAt),
  }
}
