import type { FastifyInstance } from 'fastify'
import { type AttemptRouteParts, attemptRoutes } from './attempts.ts'
import { type AuditRouteParts, auditRoutes } from './audit-log.ts'
import { type DeadRouteParts, deadRoutes } from './dead/routes.ts'
import { type DeliveryRouteParts, deliveryRoutes } from './deliveries/routes.ts'
import { type EventRouteParts, eventRoutes } from './events/routes.ts'
import { type IngestRouteParts, ingestRoutes } from './figures/ingest-rate.ts'
import { type FigureRouteParts, figureRoutes } from './figures/routes.ts'
import { type HealthRouteParts, healthRoutes } from './health/routes.ts'
import { type LagRouteParts, lagRoutes } from './lag/routes.ts'
import { type LiveRouteParts, liveRoutes } from './live/routes.ts'
import { type PreviewRouteParts, previewRoute } from './preview/routes.ts'
import { createViewerLimit } from './records/following.ts'
import { type StatusParts, statusRoutes } from './status/routes.ts'

export type ActivityParts = AttemptRouteParts &
  DeadRouteParts &
  DeliveryRouteParts &
  EventRouteParts &
  FigureRouteParts &
  HealthRouteParts &
  IngestRouteParts &
  LiveRouteParts &
  LagRouteParts &
  PreviewRouteParts &
  StatusParts &
  AuditRouteParts

export function activityRoutes(api: FastifyInstance, parts: ActivityParts): void {
  // searches of events, deliveries and previews share one limit
  const limitViewers = createViewerLimit()
  attemptRoutes(api, parts)
  deadRoutes(api, parts)
  eventRoutes(api, { ...parts, limitViewers })
  figureRoutes(api, parts)
  deliveryRoutes(api, { ...parts, limitViewers })
  healthRoutes(api, parts)
  ingestRoutes(api, parts)
  liveRoutes(api, parts)
  lagRoutes(api, parts)
  previewRoute(api, { ...parts, limitViewers })
  statusRoutes(api, parts)
  auditRoutes(api, parts)
}
