import ms, { type StringValue } from 'ms'
import { LOG_FAULTS } from '../kafka/admin/lost-records.ts'
import type { Topic } from '../kafka/admin/topics.ts'
import { PARKED } from '../kafka/produce/park.ts'
import { CONFIG } from '../settings/settings.ts'
import type { SchemaName } from './codec.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** `schema`: of the values. Without one, they are JSON or bytes. */
export type SchemaTopic = Topic & { schema?: SchemaName }

export const EVENTS = 'events'
export const REJECTED = 'events.rejected'
export const MEMBERS = 'audience-members'
export const VALUES = 'trait-values'
/** Uploads of audiences and traits that are not compared yet. */
export const UPLOADS = 'uploads'
export const DELIVERIES = 'deliveries'
export const DUE = 'deliveries.due'
export const DEAD = 'deliveries.dead'
export const ATTEMPTS = 'attempts'
export const SEEN = 'router.seen'
export const TASKS = 'tasks'
/** For `GET /api/audit`. */
export const AUDIT = 'audit'

/** `name`: as in the setting, such as `5s`. */
export type Rung = { name: string; delayMs: number }

export const rungTopic = (delay: string) => `deliveries.retry.${delay}`

/** The beginning of each rung's name. */
export const RUNG = rungTopic('')
export const isRung = (topic: string) => topic.startsWith(RUNG)

/** @returns ms; 0 when the name states no delay. */
export function rungDelay(topic: string): number {
  const name = topic.slice(RUNG.length)
  // despite its type, `ms` returns NaN for anything but a duration
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
  const requiredMs = windowMs + OUTAGE_MS
  const rungs = [...new Set(ladder.map(({ name }) => rungTopic(name)))]
  return [
    { name: EVENTS, partitions: 'many', retention: EVENTS_RETENTION, schema: 'event' },
    { name: REJECTED, partitions: 'many', retention: EVENTS_RETENTION, schema: 'rejected' },
    { name: CONFIG, partitions: 1, retention: 'compact' },
    { name: MEMBERS, partitions: 'fixed', retention: 'compact' },
    { name: VALUES, partitions: 'fixed', retention: 'compact' },
    { name: UPLOADS, partitions: 'fixed', retention: DAY },
    ...[DELIVERIES, DUE, ...rungs].map((name) => ({ ...delivery(name, DELIVERIES_RETENTION), requiredMs })),
    delivery(DEAD, DEAD_RETENTION),
    { name: ATTEMPTS, partitions: 'fixed', retention: ATTEMPTS_RETENTION, schema: 'attempt' },
    { name: SEEN, partitions: 'many', retention: Math.max(dedupWindowMs, HOUR) + OUTAGE_MS },
    { name: TASKS, partitions: 1, retention: { compact: 30 * DAY } },
    { name: AUDIT, partitions: 1, retention: AUDIT_RETENTION },
    { name: PARKED, partitions: 1, retention: 14 * DAY },
    { name: LOG_FAULTS, partitions: 1, retention: 30 * DAY },
  ]
}

const delivery = (name: string, retention: number): SchemaTopic => ({
  name,
  partitions: 'many',
  retention,
  schema: 'delivery',
})

export const EVENTS_RETENTION = 7 * DAY
export const DELIVERIES_RETENTION = 3 * DAY
export const DEAD_RETENTION = 14 * DAY
export const ATTEMPTS_RETENTION = 3 * DAY
const AUDIT_RETENTION = 90 * DAY
/** A delivery survives an outage of this length after its retry window. */
export const OUTAGE_MS = DAY
