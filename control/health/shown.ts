import { z } from 'zod'
import type { Destination } from '../../schemas/settings.ts'
import { isoTime, timeShape } from '../http/iso-time.ts'
import { BREAKER_STATES } from './breakers.ts'
import type { DestinationHealth, EndpointHealth, Health } from './health.ts'

const count = z.number().int().nonnegative()
const duration = z.number().nullable().describe('ms, to within an eighth; null: no POST was made.')
const durations = { p50: duration, p99: duration }
const breaker = z.enum(BREAKER_STATES)

const minuteShape = z.strictObject({
  at: timeShape,
  delivered: count.describe('POSTs, as are retry, refused and deferred.'),
  retry: count,
  refused: count,
  deferred: count,
  dead: count.describe('Deliveries that were given up.'),
  ...durations,
})

const nowFields = {
  delivered: count.describe('A minute, as all of these.'),
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
      breaker: breaker.describe('The worst of its webhooks.'),
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
    const { breaker, ...figures } = lately(destination)
    return { destinationId: destination.id, ...figures, breaker }
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
