import type { Offsets } from '../../../kafka/admin/offsets.ts'
import { poll } from '../../../kafka/admin/poll.ts'
import { type Loading, STALE_MS } from '../records/following.ts'
import { createHistory, createHour, type Moment, readPast } from './history.ts'
import { type End, type GroupTopic, observe } from './observe.ts'
import type { LagItem } from './status.ts'

/** `at`: ms since 1970. `ends`: of topics that groups read. `missing`: topics that do not exist. */
export type Report = {
  at: number
  items: readonly LagItem[]
  ends: readonly End[]
  missing: readonly string[]
}

export type Lag = Loading & {
  /** Undefined before the first observation, or if the last is too old. */
  latest(): Report | undefined
  /** Since the last observation, or since the start. */
  silentMs(): number
  /** How far back a group's status looks. */
  windowMs: number
  /** Oldest first. */
  hour(): readonly Moment[]
  close(): Promise<void>
}

export type LagOptions = {
  open: () => Promise<Offsets>
  groupTopics: (topics: readonly string[]) => readonly GroupTopic[]
  required: readonly string[]
  onFailed: (error: unknown) => void
  everyMs?: number
  observations?: number
  /** Without an answer from Kafka for so long, the lag is unknown. */
  staleMs?: number
}

const EVERY_MS = 2_000
/** 20 s: longer than a restart, or an attempt with default settings. */
const OBSERVATIONS = 10

/** As long as one attempt can hold an offset while another waits behind it. */
export const observationsFor = (responseTimeoutMs: number): number =>
  Math.max(OBSERVATIONS, Math.ceil((2 * responseTimeoutMs) / EVERY_MS))

/** Observes all consumer groups from outside, so dead consumers show too. */
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
