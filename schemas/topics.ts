import ms, { type StringValue } from 'ms'
import { LOG_FAULTS } from '../kafka/admin/lost-records.ts'
import type { Topic } from '../kafka/admin/topics.ts'
import { PARKED } from '../kafka/produce/park.ts'
import { CONFIG } from '../settings/settings.ts'
import type { SchemaName } from './codec.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The one table of topics is `topics` below. `schema`: Avro schema of the values; topics without one hold JSON or bytes. */
export type SchemaTopic = Topic & { schema?: SchemaName }

export const EVENTS = 'events'
export const REJECTED = 'events.rejected'
export const MEMBERS = 'audience-members'
export const VALUES = 'trait-values'
/** What clients upload for audiences and traits, until it has been compared with what was there. */
export const UPLOADS = 'uploads'
export const DELIVERIES = 'deliveries'
export const DUE = 'deliveries.due'
export const DEAD = 'deliveries.dead'
export const ATTEMPTS = 'attempts'
export const SEEN = 'router.seen'
/** What control does in the background, and how far it is. */
export const TASKS = 'tasks'

/** One delay of the ladder, in milliseconds, and as the setting writes it. */
export type Rung = { name: string; delayMs: number }

/** A rung's topic is named after its delay as the setting writes it: `deliveries.retry.5s`. */
export const rungTopic = (delay: string) => `deliveries.retry.${delay}`

const RUNG = rungTopic('')
export const isRung = (topic: string) => topic.startsWith(RUNG)

/** @returns the delay in ms by a rung's name; 0 for one that says none. */
export function rungDelay(topic: string): number {
  const name = topic.slice(RUNG.length)
  // what is no duration gives NaN, whatever the type says
  return (name && ms(name as StringValue)) || 0
}

export function topics({
  ladder,
  dedupWindowMs,
  windowMs,
}: {
  ladder: readonly Rung[]
  dedupWindowMs: number
  /** RETRY_WINDOW. */
  windowMs: number
}): SchemaTopic[] {
  const needed = windowMs + OUTAGE
  const rungs = [...new Set(ladder.map(({ name }) => rungTopic(name)))]
  return [
    { name: EVENTS, partitions: 'many', kept: 7 * DAY, schema: 'event' },
    { name: REJECTED, partitions: 'many', kept: 7 * DAY, schema: 'rejected' },
    { name: CONFIG, partitions: 1, kept: 'compact' },
    { name: MEMBERS, partitions: 'many', kept: 'compact' },
    { name: VALUES, partitions: 'many', kept: 'compact' },
    { name: UPLOADS, partitions: 'many', kept: DAY },
    ...[DELIVERIES, DUE, ...rungs].map((name) => ({ ...delivery(name, DELIVERIES_KEPT), needed })),
    delivery(DEAD, 14 * DAY),
    { name: ATTEMPTS, partitions: 'many', kept: ATTEMPTS_KEPT, schema: 'attempt' },
    { name: SEEN, partitions: 'many', kept: Math.max(dedupWindowMs, HOUR) + OUTAGE },
    { name: TASKS, partitions: 1, kept: { compact: 30 * DAY } },
    { name: PARKED, partitions: 1, kept: 14 * DAY },
    { name: LOG_FAULTS, partitions: 1, kept: 30 * DAY },
  ]
}

const delivery = (name: string, kept: number): SchemaTopic => ({
  name,
  partitions: 'many',
  kept,
  schema: 'delivery',
})

export const DELIVERIES_KEPT = 3 * DAY
export const ATTEMPTS_KEPT = 3 * DAY
/** The longest outage that a delivery must survive on top of its retry window. */
export const OUTAGE = DAY
