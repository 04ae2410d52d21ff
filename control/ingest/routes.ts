import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { isoTime, timeShape } from '../http/iso-time.ts'
import { operation } from '../http/operation.ts'
import { path } from '../http/serve.ts'
import { isLoadedSoon, loading, unreachable } from '../newest/loaded.ts'
import type { Ingest } from './follow.ts'
import type { Rates } from './rates.ts'

export type IngestRouteParts = { intake: Pick<Ingest, 'loaded' | 'isLoaded' | 'latest'> }

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

const shownIntake = ({ minutes, ...rates }: Rates): z.infer<typeof intakeShape> => ({
  ...rates,
  minutes: minutes.map(({ at, ...total }) => ({ at: isoTime(at), ...total })),
})

/** As it is answered; undefined: nothing can be said of it now. */
export function intakeOf({ latest }: Pick<Ingest, 'latest'>): z.infer<typeof intakeShape> | undefined {
  const rates = latest()
  return rates && shownIntake(rates)
}

/** `/ingest`: how many calls come in. */
export function ingestRoutes(api: FastifyInstance, { intake }: IngestRouteParts): void {
  path(api, '/ingest', {
    GET: operation({
      summary: 'How many calls come in',
      description: 'By the ends of topics `events` and `events.rejected`, looked at every 2 s.',
      answers: { 200: { description: 'Now, and of the last hour.', body: intakeShape } },
      async handle() {
        if (!(await isLoadedSoon(intake))) return loading
        const body = intakeOf(intake)
        return body ? { status: 200, body } : unreachable
      },
    }),
  })
}
