import type { FastifyInstance } from 'fastify'
import type { AttemptRouteParts } from '../attempts/routes.ts'
import type { DeadRouteParts } from '../dead/routes.ts'
import { operation } from '../http/operation.ts'
import { answerTo } from '../http/refusal.ts'
import { path } from '../http/serve.ts'
import { type IngestRouteParts, intakeOf } from '../ingest/routes.ts'
import { createBroadcast } from '../live/broadcast.ts'
import { STREAM, streamed } from '../live/stream.ts'
import { countSkipped } from '../metrics.ts'
import { isLoadedSoon, loading, unreachable } from '../newest/loaded.ts'
import type { Facts } from '../settings/noun.ts'
import type { Health } from './health.ts'
import { healthShape, overviewShape, shownHealth, shownOverview } from './shown.ts'

export type HealthRouteParts = AttemptRouteParts &
  DeadRouteParts &
  IngestRouteParts & {
    health: Pick<Health, 'of' | 'lately'>
    settings: Pick<Facts, 'destinations'>
  }

/** `/health`, `/destinations/:id/health`: what comes of deliveries, now and in the last hour. `/health/stream`: the same, live. */
export function healthRoutes(api: FastifyInstance, parts: HealthRouteParts): void {
  const { health, intake, settings } = parts
  const { destinations } = settings
  const isLoaded = async () => (await isLoadedSoon(parts.attempts)) && (await isLoadedSoon(parts.dead))
  const isFresh = () => parts.attempts.isFresh() && parts.dead.isFresh()
  const overview = () => (isFresh() ? shownOverview(destinations, health) : undefined)
  const broadcast = createBroadcast({
    current: {
      health: overview,
      ingest: () => intakeOf(intake),
    },
    onSkipped: countSkipped('slow'),
  })
  api.addHook('preClose', async () => broadcast.end())

  path(api, '/health', {
    GET: operation({
      summary: 'How all destinations are',
      description:
        'Counts are of the last minute. 503 when what comes of deliveries has not been read for 30 s.',
      answers: { 200: { description: 'Of each destination.', body: overviewShape } },
      async handle() {
        if (!(await isLoaded())) return loading
        const body = overview()
        return body ? { status: 200, body } : unreachable
      },
    }),
  })
  path(api, '/health/stream', {
    GET: operation({
      summary: 'Watch how all destinations are, and how many calls come in',
      description:
        'Server-sent events `health` (as `GET /api/health`) and `ingest` (as `GET /api/ingest`), at once and then whenever one has changed, every 2 s at most; `unavailable` for one of which nothing can be said now.',
      answers: { 200: STREAM },
      refuses: ['too_many_watchers'],
      handle: async (asked) => ((await isLoaded()) ? streamed(asked, broadcast) : loading),
    }),
  })
  path(api, '/destinations/:id/health', {
    GET: operation({
      summary: 'How a destination is',
      description:
        'The last hour by the minute, the last minute, and each webhook with its breaker and its last error.',
      answers: { 200: { description: 'Its health.', body: healthShape } },
      refuses: ['not_found'],
      async handle({ params: { id } }) {
        const destination = destinations.get(id)
        if (!destination) return answerTo({ code: 'not_found', what: `destination ${id}` })
        if (!(await isLoaded())) return loading
        return isFresh() ? { status: 200, body: shownHealth(health.of(destination)) } : unreachable
      },
    }),
  })
}
