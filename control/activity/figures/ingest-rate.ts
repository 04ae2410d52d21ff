import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { alongTimes } from '../../../kafka/admin/along-times.ts'
import type { Offsets } from '../../../kafka/admin/offsets.ts'
import { poll } from '../../../kafka/admin/poll.ts'
import { EVENTS, REJECTED } from '../../../schemas/topics.ts'
import { addPath, operation } from '../../api/operation.ts'
import { isoTime, timeShape } from '../../api/response.ts'
import { isLoadedSoon, type Loading, loading, STALE_MS, unreachable } from '../records/following.ts'
import { bucketStarts, MINUTE_MS, WINDOWS, type Window } from './series.ts'

export type IngestRouteParts = { ingestRate: Pick<IngestRate, 'loaded' | 'isLoaded' | 'latest'> }

const count = z.number().int().nonnegative()

const ingestRateShape = z
  .strictObject({
    perSecond: z.number().nonnegative().describe('Accepted calls/s over the last 10 s.'),
    rejectedPerSecond: z.number().nonnegative(),
    minutes: z
      .array(z.strictObject({ at: timeShape, calls: count.describe('Accepted calls.'), rejected: count }))
      .describe('The last sixty minutes; the current one comes last.'),
  })
  .meta({ id: 'Ingest' })

const ratesResponse = ({ minutes, ...rates }: Rates): z.infer<typeof ingestRateShape> => ({
  ...rates,
  minutes: minutes.map(({ at, ...total }) => ({ at: isoTime(at), ...total })),
})

export function ingestRateOf({
  latest,
}: Pick<IngestRate, 'latest'>): z.infer<typeof ingestRateShape> | undefined {
  const rates = latest()
  return rates && ratesResponse(rates)
}

export function ingestRoutes(api: FastifyInstance, { ingestRate }: IngestRouteParts): void {
  addPath(api, '/ingest', {
    GET: operation({
      summary: 'Show the rate of incoming calls',
      description: 'Measured every 2 s from the end offsets of topics `events` and `events.rejected`.',
      responses: {
        200: { description: 'The current rate, and the last hour by minute.', body: ingestRateShape },
      },
      async handle() {
        if (!(await isLoadedSoon(ingestRate))) return loading
        const body = ingestRateOf(ingestRate)
        return body ? { status: 200, body } : unreachable
      },
    }),
  })
}

export type IngestRate = Loading & {
  latest(): Rates | undefined
  /** By bucket; undefined if unknown. */
  calls(window: Window, now: number): Total[] | undefined
  close(): Promise<void>
}

export type IngestRateOptions = {
  open: () => Promise<Offsets>
  onFailed: (error: unknown) => void
  everyMs?: number
  /** Without an answer from Kafka for so long, the rate is unknown. */
  staleMs?: number
}

const EVERY_MS = 2_000
/** Records of a minute are written by this time after its end. */
const LATE_MS = 10_000

/** Uses the end offsets of topics: reads no records, and counts every writer. */
export function followIngestRate(options: IngestRateOptions): IngestRate {
  const { open, onFailed, everyMs = EVERY_MS, staleMs = STALE_MS } = options
  const { promise: loaded, resolve: onLoaded } = Promise.withResolvers<void>()
  const rates = createRates()
  let isLoaded = false
  let measuredAt = Number.NEGATIVE_INFINITY

  async function measure(offsets: Offsets): Promise<void> {
    const now = Date.now()
    const begun = now - (now % MINUTE_MS)
    // cheap: Kafka indexes offsets by time
    const found = await alongTimes(rates.missing(now), (time) => totalAt(offsets, time))
    for (const { time, answer } of found) rates.begin(time, answer)
    // again for a while, to include what was written late
    if (now - begun < LATE_MS) rates.begin(begun, await totalAt(offsets, begun))
    rates.measure(
      Date.now(),
      await totalOf(
        (topic) => offsets.bounds(topic),
        ({ end }) => end,
      ),
    )
    measuredAt = performance.now()
    isLoaded = true
    onLoaded()
  }

  const isFresh = () => performance.now() - measuredAt < staleMs
  const { close } = poll({ open, read: measure, onFailed, everyMs })
  return {
    loaded,
    isLoaded: () => isLoaded,
    latest: () => (isFresh() ? rates.of(Date.now()) : undefined),
    calls: (window, now) => (isFresh() ? rates.calls(window, now) : undefined),
    close,
  }
}

const totalAt = (offsets: Offsets, time: number) =>
  totalOf(
    (topic) => offsets.at(topic, time),
    ({ offset }) => offset,
  )

async function totalOf<T>(ask: (topic: string) => Promise<T[]>, of: (each: T) => number): Promise<Total> {
  const [calls, rejected] = await Promise.all([EVENTS, REJECTED].map(ask))
  const sum = (all: T[] = []) => all.reduce((total, each) => total + of(each), 0)
  return { calls: sum(calls), rejected: sum(rejected) }
}

export type Total = { calls: number; rejected: number }

/** Times are ms since 1970; `calls` were accepted. */
export type Rates = {
  perSecond: number
  rejectedPerSecond: number
  minutes: (Total & { at: number })[]
}

const LATELY_MS = 10_000

export function createRates() {
  const beginnings = new Map<number, Total>()
  let samples: (Total & { at: number })[] = []

  const needed = (now: number) => new Set([...bucketStarts('1h', now), ...bucketStarts('24h', now)])

  function calls(window: Window, now: number): Total[] {
    const { bucketMs } = WINDOWS[window]
    const last = samples.at(-1)
    return bucketStarts(window, now).map((at) => {
      const from = beginnings.get(at)
      // the next bucket may have begun since the last measurement
      const to = beginnings.get(at + bucketMs) ?? (last && at + bucketMs > last.at ? last : undefined)
      const of = (what: keyof Total) => (from && to ? growth(from, to, what) : 0)
      return { calls: of('calls'), rejected: of('rejected') }
    })
  }

  return {
    /** Starts of buckets whose total is unknown, ascending. */
    missing: (now: number): number[] =>
      [...needed(now)].filter((at) => !beginnings.has(at)).sort((one, other) => one - other),

    begin: (at: number, total: Total) => void beginnings.set(at, total),

    measure(at: number, total: Total): void {
      // the clock was set back
      samples = samples.filter((measure) => measure.at < at && measure.at >= at - LATELY_MS)
      samples.push({ ...total, at })
      const isNeeded = needed(at)
      for (const old of beginnings.keys()) if (!isNeeded.has(old)) beginnings.delete(old)
    },

    calls,

    of(now: number): Rates {
      const [first, last] = [samples[0], samples.at(-1)]
      const seconds = first && last ? (last.at - first.at) / 1_000 : 0
      const speed = (of: keyof Total) =>
        first && last && seconds > 0 ? Math.round((growth(first, last, of) / seconds) * 10) / 10 : 0
      const starts = bucketStarts('1h', now)
      return {
        perSecond: speed('calls'),
        rejectedPerSecond: speed('rejected'),
        minutes: calls('1h', now).map((total, place) => ({ at: starts[place] ?? 0, ...total })),
      }
    },
  }
}

/** A recreated topic starts at 0. */
const growth = (from: Total, to: Total, of: keyof Total) => Math.max(0, to[of] - from[of])
