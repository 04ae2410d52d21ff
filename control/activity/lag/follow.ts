import type { Offsets } from '../../../kafka/admin/offsets.ts'
import { poll } from '../../../kafka/admin/poll.ts'
import { type Loading, STALE_MS } from '../following.ts'
import { createHistory, createHour, type Moment, readPast } from './history.ts'
import { type End, type GroupTopic, observe } from './observe.ts'
import type { LagItem } from './status.ts'

/**
 * `at`: when it was observed, in ms since 1970. `ends`: of each topic that a group reads. `missing`: topics that do not
 * exist, so `items` and `ends` have nothing about them.
 */
export type Report = {
  at: number
  items: readonly LagItem[]
  ends: readonly End[]
  missing: readonly string[]
}

export type Lag = Loading & {
  /** Undefined before the first observation, and if the last is too old. */
  latest(): Report | undefined
  /** Since the last observation, or since the start. */
  silentMs(): number
  /** A group's status depends on the observations of this time. */
  windowMs: number
  /** Oldest first. */
  hour(): readonly Moment[]
  close(): Promise<void>
}

export type LagOptions = {
  open: () => Promise<Offsets>
  groupTopics: (topics: readonly string[]) => readonly GroupTopic[]
  /** Topics that should exist. */
  required: readonly string[]
  onFailed: (error: unknown) => void
  /** From the start of one observation to the start of the next, unless one takes longer. */
  everyMs?: number
  observations?: number
  /** After this time without an answer from Kafka, the lag counts as unknown. */
  staleMs?: number
}

const EVERY_MS = 2_000
/** Twenty seconds: longer than a restart, or an attempt with default settings. */
const OBSERVATIONS = 10

/** As long as one attempt can hold an offset while another waits behind it, but at least `OBSERVATIONS`. */
export const observationsFor = (responseTimeoutMs: number): number =>
  Math.max(OBSERVATIONS, Math.ceil((2 * responseTimeoutMs) / EVERY_MS))

/**
 * Observes all consumer groups from outside, so that dead consumers show as well. One observation at a time.
 */
export function followLag(options: LagOptions): Lag {
  const {
    open,
    groupTopics,
    required,
    onFailed,
    everyMs = EVERY_MS,
    observations = OBSERVATIONS,
    staleMs = STALE_MS,
  } = options
  const history = createHistory(observations)
  const hour = createHour()
  const { promise: loaded, resolve: onLoaded } = Promise.withResolvers<void>()
  let report: Report | undefined
  const openedAt = performance.now()
  let observedAt = Number.NEGATIVE_INFINITY

  const latest = () => (performance.now() - observedAt < staleMs ? report : undefined)

  async function observeOnce(offsets: Offsets): Promise<void> {
    const existing = await offsets.topics()
    const read = groupTopics(existing)
    const unknown = read.filter(({ ranges, topic }) => !ranges && !history.knows(topic))
    const begin = async (of: GroupTopic) => history.begin(of.topic, await readPast(offsets, of, Date.now()))
    await Promise.all(unknown.map(begin))
    const seen = await observe(offsets, read, Date.now)
    const missing = required.filter((topic) => !existing.includes(topic))
    report = { at: seen.at, items: history.add(seen), ends: seen.ends, missing }
    hour.add(report)
    observedAt = performance.now()
    onLoaded()
  }

  const { close } = poll({ open, read: observeOnce, onFailed, everyMs })
  return {
    loaded,
    isLoaded: () => report !== undefined,
    latest,
    silentMs: () => performance.now() - Math.max(openedAt, observedAt),
    windowMs: observations * everyMs,
    hour: hour.all,
    close,
  }
}
