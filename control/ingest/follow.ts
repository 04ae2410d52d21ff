import type { Offsets } from '../../kafka/offsets.ts'
import { poll } from '../../kafka/poll.ts'
import { EVENTS, REJECTED } from '../../schemas/topics.ts'
import { type Loading, STALE_MS } from '../newest/loaded.ts'
import { createRates, MINUTES, type Rates, type Total } from './rates.ts'

export type Ingest = Loading & {
  /** Undefined before the first look, and when the last one is too old. */
  latest(): Rates | undefined
  close(): Promise<void>
}

export type IngestOptions = {
  open: () => Promise<Offsets>
  onFailed: (error: unknown) => void
  everyMs?: number
  /** When Kafka has not answered for so long, nothing is told any more. */
  staleMs?: number
}

const EVERY_MS = 2_000
const MINUTE = 60_000

/** How many calls come in, by the ends of their topics: nothing is read for it, and all that writes there counts. */
export function followIngest(options: IngestOptions): Ingest {
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
