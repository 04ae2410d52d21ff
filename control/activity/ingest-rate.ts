import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Offsets } from '../../kafka/admin/offsets.ts'
import { poll } from '../../kafka/admin/poll.ts'
import { EVENTS, REJECTED } from '../../schemas/topics.ts'
import { addPath, operation } from '../api/operation.ts'
import { isoTime, timeShape } from '../api/response.ts'
import { isLoadedSoon, type Loading, loading, STALE_MS, unreachable } from './following.ts'

export type IngestRouteParts = { intake: Pick<IngestRate, 'loaded' | 'isLoaded' | 'latest'> }

const count = z.number().int().nonnegative()

const intakeShape = z
  .strictObject({
    perSecond: z.number().nonnegative().describe('Accepted calls, over the last 10 s.'),
    rejectedPerSecond: z.number().nonnegative(),
    minutes: z
      .array(z.strictObject({ at: timeShape, calls: count.describe('Accepted ones.'), rejected: count }))
      .describe('The last sixty; the last one is that of now.'),
  })
  .meta({ id: 'Ingest' })

const ratesResponse = ({ minutes, ...rates }: Rates): z.infer<typeof intakeShape> => ({
  ...rates,
  minutes: minutes.map(({ at, ...total }) => ({ at: isoTime(at), ...total })),
})

/** As it is answered; undefined: nothing can be said of it now. */
export function intakeOf({ latest }: Pick<IngestRate, 'latest'>): z.infer<typeof intakeShape> | undefined {
  const rates = latest()
  return rates && ratesResponse(rates)
}

/** `/ingest`: how many calls come in. */
export function ingestRoutes(api: FastifyInstance, { intake }: IngestRouteParts): void {
  addPath(api, '/ingest', {
    GET: operation({
      summary: 'How many calls come in',
      description: 'By the ends of topics `events` and `events.rejected`, looked at every 2 s.',
      responses: { 200: { description: 'Now, and of the last hour.', body: intakeShape } },
      async handle() {
        if (!(await isLoadedSoon(intake))) return loading
        const body = intakeOf(intake)
        return body ? { status: 200, body } : unreachable
      },
    }),
  })
}

export type IngestRate = Loading & {
  /** Undefined before the first look, and when the last one is too old. */
  latest(): Rates | undefined
  close(): Promise<void>
}

export type IngestRateOptions = {
  open: () => Promise<Offsets>
  onFailed: (error: unknown) => void
  everyMs?: number
  /** When Kafka has not answered for so long, nothing is told any more. */
  staleMs?: number
}

const EVERY_MS = 2_000
const MINUTE = 60_000

/** How many calls come in, by the ends of their topics: nothing is read for it, and all that writes there counts. */
export function followIngestRate(options: IngestRateOptions): IngestRate {
  const { open, onFailed, everyMs = EVERY_MS, staleMs = STALE_MS } = options
  const { promise: loaded, resolve: onLoaded } = Promise.withResolvers<void>()
  const rates = createRates()
  let isLoaded = false
  let lookedAt = Number.NEGATIVE_INFINITY

  async function look(offsets: Offsets): Promise<void> {
    const now = Date.now()
    const begun = now - (now % MINUTE)
    if (!isLoaded) await lookBack(offsets, begun)
    // asked again and again: what was written late is in it as well
    rates.minute(begun, await totalAt(offsets, begun))
    rates.look(
      Date.now(),
      await totalOf(
        (topic) => offsets.bounds(topic),
        ({ end }) => end,
      ),
    )
    lookedAt = performance.now()
    isLoaded = true
    onLoaded()
  }

  /** Kafka finds offsets by time in its index, which costs it little; one after the other, as this is not urgent. */
  async function lookBack(offsets: Offsets, begun: number): Promise<void> {
    for (let ago = 1; ago < MINUTES; ago++) {
      const at = begun - ago * MINUTE
      rates.minute(at, await totalAt(offsets, at))
    }
  }

  const { close } = poll({ open, look, onFailed, everyMs })
  return {
    loaded,
    isLoaded: () => isLoaded,
    latest: () => (performance.now() - lookedAt < staleMs ? rates.of(Date.now()) : undefined),
    close,
  }
}

/** What had come before this time. */
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

/** How many there have been up to some moment. */
export type Total = { calls: number; rejected: number }

/** Times are ms since 1970; `calls` are those that were accepted. */
export type Rates = {
  perSecond: number
  rejectedPerSecond: number
  /** The last sixty, the one that it is now last. */
  minutes: (Total & { at: number })[]
}

export const MINUTES = 60
/** So long back the speed of now is measured. */
const LATELY_MS = 10_000

/** What totals at some moments say of speed. */
export function createRates() {
  const beginnings = new Map<number, Total>()
  let looks: (Total & { at: number })[] = []

  return {
    /** What there was when this minute began. */
    minute(at: number, total: Total): void {
      beginnings.set(at, total)
      for (const old of beginnings.keys()) if (old <= at - MINUTES * MINUTE) beginnings.delete(old)
    },

    look(at: number, total: Total): void {
      // the clock was set back
      looks = looks.filter((look) => look.at < at && look.at >= at - LATELY_MS)
      looks.push({ ...total, at })
    },

    of(now: number): Rates {
      const [first, last] = [looks[0], looks.at(-1)]
      const seconds = first && last ? (last.at - first.at) / 1_000 : 0
      const speed = (of: keyof Total) =>
        first && last && seconds > 0 ? Math.round((grown(first, last, of) / seconds) * 10) / 10 : 0
      const current = now - (now % MINUTE)
      return {
        perSecond: speed('calls'),
        rejectedPerSecond: speed('rejected'),
        minutes: Array.from({ length: MINUTES }, (_, index) => {
          const at = current - (MINUTES - 1 - index) * MINUTE
          const from = beginnings.get(at)
          const to = beginnings.get(at + MINUTE) ?? (at === current ? last : undefined)
          const of = (what: keyof Total) => (from && to ? grown(from, to, what) : 0)
          return { at, calls: of('calls'), rejected: of('rejected') }
        }),
      }
    },
  }
}

/** A topic that was made anew begins at nought. */
const grown = (from: Total, to: Total, of: keyof Total) => Math.max(0, to[of] - from[of])
