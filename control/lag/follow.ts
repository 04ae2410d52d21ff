import { setTimeout as sleep } from 'node:timers/promises'
import { CLOSE_MS, within } from '../../kafka/client.ts'
import type { Offsets } from '../../kafka/offsets.ts'
import type { Loading } from '../newest/loaded.ts'
import { createHistory } from './history.ts'
import type { LagItem } from './item.ts'
import { look } from './look.ts'
import { readPast } from './past.ts'
import type { Reading } from './readings.ts'

/** `at`: when it was so, in ms since 1970. */
export type Report = { at: number; items: readonly LagItem[] }

export type Lag = Loading & {
  /** What the last look has shown; undefined before the first, and when the last one is too old. */
  latest(): Report | undefined
  close(): Promise<void>
}

export type LagOptions = {
  open: () => Promise<Offsets>
  /** Asked at each look. */
  readings: (topics: readonly string[]) => readonly Reading[]
  onFailed: (error: unknown) => void
  /** From the beginning of one look to that of the next; a look that takes longer is waited for. */
  everyMs?: number
  /** How many looks in a row say what state a partition is in. */
  looks?: number
  /** When Kafka has not answered for so long, nothing is told any more. */
  staleMs?: number
}

export const EVERY_MS = 2_000
/** Twenty seconds: longer than a restart takes, or an attempt by the default settings. */
export const LOOKS = 10
const STALE_MS = 30_000

/** Looks at all consumer groups from outside, so that one whose consumers are dead shows as well. One look at a time. */
export function followLag(options: LagOptions): Lag {
  const { open, readings, onFailed, everyMs = EVERY_MS, looks = LOOKS, staleMs = STALE_MS } = options
  const history = createHistory(looks)
  const { promise: loaded, resolve: onLoaded } = Promise.withResolvers<void>()
  const closing = new AbortController()
  let offsets: Offsets | undefined
  let report: Report | undefined
  let lookedAt = Number.NEGATIVE_INFINITY

  const latest = () => (performance.now() - lookedAt < staleMs ? report : undefined)

  async function lookOnce(): Promise<void> {
    offsets ??= await open()
    const read = readings(await offsets.topics())
    for (const reading of read)
      if (!reading.ranges && !history.knows(reading.topic))
        history.begin(reading.topic, await readPast(offsets, reading, Date.now()))
    const seen = await look(offsets, read, Date.now)
    report = { at: seen.at, items: history.add(seen) }
    lookedAt = performance.now()
    onLoaded()
  }

  /** The client holds on to what has changed meanwhile, who leads a partition or which topics there are: the next look has a new one. */
  async function failed(error: unknown): Promise<void> {
    if (!closing.signal.aborted) onFailed(error)
    await offsets?.close()
    offsets = undefined
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      const begun = performance.now()
      await lookOnce().catch(failed)
      const left = everyMs - (performance.now() - begun)
      await sleep(Math.max(0, left), undefined, closing).catch(() => undefined)
    }
  }

  const running = run()
  return {
    loaded,
    isLoaded: () => report !== undefined,
    latest,
    async close() {
      closing.abort()
      await within(CLOSE_MS, running)
      await offsets?.close()
    },
  }
}
