import type { FastifyInstance } from 'fastify'
import { type AttemptRouteParts, attemptRoutes } from './attempts.ts'
import { type DeadRouteParts, deadRoutes } from './dead/routes.ts'
import { type EventRouteParts, eventRoutes } from './events/routes.ts'
import { type HealthRouteParts, healthRoutes } from './health/routes.ts'
import { type IngestRouteParts, ingestRoutes } from './ingest-rate.ts'
import { type LagRouteParts, lagRoutes } from './lag/routes.ts'
import { type LiveRouteParts, liveRoutes } from './live/routes.ts'

/** What goes on, to look at: attempts, dead letters, where a call is, how destinations are, calls as they come, how far consumers are behind. */
export type ActivityParts = AttemptRouteParts &
  DeadRouteParts &
  EventRouteParts &
  HealthRouteParts &
  IngestRouteParts &
  LiveRouteParts &
  LagRouteParts

export function activityRoutes(api: FastifyInstance, parts: ActivityParts): void {
  attemptRoutes(api, parts)
  deadRoutes(api, parts)
  eventRoutes(api, parts)
  healthRoutes(api, parts)
  ingestRoutes(api, parts)
  liveRoutes(api, parts)
  lagRoutes(api, parts)
}
