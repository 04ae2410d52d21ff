import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Facts } from '../../../settings/resources/resource.ts'
import { visibleRecord } from '../../../settings/resources/workspaces.ts'
import { addPath, operation } from '../../api/operation.ts'
import { isoTime, refusalResponse, timeShape } from '../../api/response.ts'
import type { AttemptRouteParts } from '../attempts.ts'
import type { DeadRouteParts } from '../dead/routes.ts'
import { areLoadedSoon, loading, unreachable } from '../records/following.ts'
import type { Figures } from './figures.ts'
import type { IngestRate } from './ingest-rate.ts'
import { bucketStarts, type Counts, type Series, WINDOWS, type Window } from './series.ts'

export type FigureRouteParts = AttemptRouteParts &
  DeadRouteParts & {
    figures: Pick<Figures, 'all' | 'of'> & {
      /** Complete since then (ms since 1970); null: all of the longest window. */
      since(): number | null
    }
    ingestRate: Pick<IngestRate, 'loaded' | 'isLoaded' | 'calls'>
    settings: Pick<Facts, 'destinations'>
  }

const windowNames = Object.keys(WINDOWS) as [Window, ...Window[]]

const queryShape = z.strictObject({
  window: z
    .enum(windowNames)
    .default('1h')
    .describe('`1h`: sixty buckets of a minute. `24h`: 48 buckets of half an hour.'),
})

const count = z.number().int().nonnegative()
const quantiles = (of: string) =>
  z
    .strictObject({ p50: z.number().nullable(), p99: z.number().nullable() })
    .describe(`${of}, in ms, accurate to an eighth; null: none.`)

const figuresShape = z
  .strictObject({
    delivered: count.describe('Deliveries that a webhook answered with 2xx.'),
    rejected: count.describe('Deliveries that became dead letters because the receiver answered 3xx or 4xx.'),
    dead: count.describe('Deliveries that became dead letters for another reason.'),
    failedAttempts: count.describe(
      "POSTs with the outcome `retry`: no answer, a 5xx, or a status in the destination's `retryOn`.",
    ),
    latency: quantiles('Time from the accepted call to the delivery'),
    responseTime: quantiles('Duration of POSTs'),
  })
  .meta({ id: 'Figures' })

const callsShape = z
  .strictObject({ accepted: count, rejected: count })
  .describe('New records in topics `events` and `events.rejected`.')

const windowFields = {
  window: z.enum(windowNames),
  bucketSeconds: z.number(),
  from: timeShape.describe('Start of the first bucket.'),
  until: timeShape.describe('The time of this answer, within the last bucket.'),
  since: timeShape.describe(
    'Since when the figures of deliveries are complete; null: for the whole window. Buckets that start earlier have none.',
  ),
}

const bucketFields = { at: timeShape.describe('Start of the bucket.') }

const activityShape = z
  .strictObject({
    ...windowFields,
    total: z.strictObject({ calls: callsShape, ...figuresShape.shape }).describe('Sums of the buckets.'),
    buckets: z.array(
      z.strictObject({ ...bucketFields, calls: callsShape, figures: figuresShape.nullable() }),
    ),
    destinations: z.array(
      z.strictObject({
        destinationId: z.string(),
        total: figuresShape,
        sparkline: z
          .strictObject({ delivered: z.array(count.nullable()), failed: z.array(count.nullable()) })
          .describe(
            'By bucket: deliveries that were delivered, and attempts that were not (no answer, 3xx, 4xx, 5xx or refused).',
          ),
      }),
    ),
  })
  .meta({ id: 'Activity' })

const destinationActivityShape = z
  .strictObject({
    ...windowFields,
    total: figuresShape.describe('Sums of the buckets.'),
    buckets: z.array(z.strictObject({ ...bucketFields, figures: figuresShape.nullable() })),
  })
  .meta({ id: 'DestinationActivity' })

export function figureRoutes(api: FastifyInstance, parts: FigureRouteParts): void {
  const { figures, ingestRate, settings } = parts
  const sources = [parts.attempts, parts.dead]
  const isFresh = () => sources.every((source) => source.isFresh())
  const activity = memoized((window) => activityResponse(window, parts))

  addPath(api, '/activity', {
    GET: operation({
      summary: 'Show calls, deliveries and latency of the last hour or day',
      description:
        'Calls, deliveries and failed attempts by bucket, with their sums, and the same for each destination. Computed at most every 2 s. 503 if Kafka did not answer for 30 s.',
      query: queryShape,
      responses: { 200: { description: 'The figures.', body: activityShape } },
      async handle({ query: { window } }) {
        if (!(await areLoadedSoon([...sources, ingestRate]))) return loading
        const body = isFresh() ? activity(window) : undefined
        return body ? { status: 200, body } : unreachable
      },
    }),
  })
  addPath(api, '/destinations/:id/activity', {
    GET: operation({
      summary: 'Show deliveries and latency of a destination, over the last hour or day',
      description:
        'Deliveries and failed attempts by bucket, with their sums. 503 if Kafka did not answer for 30 s.',
      query: queryShape,
      responses: { 200: { description: 'The figures.', body: destinationActivityShape } },
      errorCodes: ['not_found'],
      inWorkspace: true,
      async handle({ params: { id }, query: { window }, caller }) {
        if (!visibleRecord(caller, settings.destinations, id))
          return refusalResponse({ code: 'not_found', what: `destination ${id}` })
        if (!(await areLoadedSoon(sources))) return loading
        if (!isFresh()) return unreachable
        const { fields, known } = windowOf(window, { now: Date.now(), since: figures.since() })
        const body = { ...fields, ...seriesResponse(figures.of(id), known) }
        return { status: 200, body: body satisfies z.infer<typeof destinationActivityShape> }
      },
    }),
  })
}

/** Open consoles ask often, and a thousand destinations take some milliseconds. */
const MEMORY_MS = 2_000

function memoized<T>(make: (window: Window) => T): (window: Window) => T {
  const made = new Map<Window, { at: number; value: T }>()
  return (window) => {
    const found = made.get(window)
    if (found && performance.now() - found.at < MEMORY_MS) return found.value
    const value = make(window)
    made.set(window, { at: performance.now(), value })
    return value
  }
}

/** Which buckets of a window are complete. */
type Known = { window: Window; now: number; since: number; starts: readonly number[] }

function windowOf(window: Window, { now, since }: { now: number; since: number | null }) {
  const starts = bucketStarts(window, now)
  const from = starts[0] ?? now
  const fields = {
    window,
    bucketSeconds: WINDOWS[window].bucketMs / 1_000,
    from: isoTime(from),
    until: isoTime(now),
    since: since === null || since <= from ? null : isoTime(since),
  }
  const known: Known = { window, now, since: since ?? from, starts }
  return { fields, known }
}

function seriesResponse(series: Series, { window, now, since, starts }: Known) {
  return {
    total: figuresResponse(series.total(window, { now, since })),
    buckets: series.buckets(window, now).map((figures, place) => {
      const at = starts[place] ?? 0
      return { at: isoTime(at), figures: at < since ? null : figuresResponse(figures) }
    }),
  }
}

function activityResponse(
  window: Window,
  { figures, ingestRate, settings }: FigureRouteParts,
): z.infer<typeof activityShape> | undefined {
  const now = Date.now()
  const calls = ingestRate.calls(window, now)
  if (!calls) return undefined
  const { fields, known } = windowOf(window, { now, since: figures.since() })
  const { total, buckets } = seriesResponse(figures.all, known)
  const sum = (of: 'calls' | 'rejected') => calls.reduce((all, each) => all + each[of], 0)
  return {
    ...fields,
    total: { calls: { accepted: sum('calls'), rejected: sum('rejected') }, ...total },
    buckets: buckets.map((bucket, place) => {
      const { calls: accepted = 0, rejected = 0 } = calls[place] ?? {}
      return { ...bucket, calls: { accepted, rejected } }
    }),
    destinations: [...settings.destinations.keys()].map((id) =>
      destinationResponse(id, figures.of(id), known),
    ),
  }
}

function destinationResponse(destinationId: string, series: Series, { window, now, since, starts }: Known) {
  const counts = series.counts(window, now)
  const line = (name: 'delivered' | 'failed') =>
    counts.map((each, place) => ((starts[place] ?? 0) < since ? null : each[name]))
  return {
    destinationId,
    total: figuresResponse(series.total(window, { now, since })),
    sparkline: { delivered: line('delivered'), failed: line('failed') },
  }
}

function figuresResponse({ posts, deliveries, latency, responseTime }: Counts): z.infer<typeof figuresShape> {
  return { ...deliveries, failedAttempts: posts.retry, latency, responseTime }
}
