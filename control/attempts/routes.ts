import type { FastifyInstance } from 'fastify'
import { isoTime, timeShape } from '../http/iso-time.ts'
import { operation } from '../http/operation.ts'
import { pageOf } from '../http/page.ts'
import { path } from '../http/serve.ts'
import { isLoadedSoon, loading } from '../newest/loaded.ts'
import type { Attempts } from './follow.ts'
import { attemptsShape, isAskedFor } from './query.ts'
import { attemptShape, shownAttempt } from './shown.ts'

export type AttemptRouteParts = { attempts: Omit<Attempts, 'onAttempt' | 'close'> }

/** `/attempts`: those of late, newest first. */
export function attemptRoutes(api: FastifyInstance, { attempts }: AttemptRouteParts): void {
  path(api, '/attempts', {
    GET: operation({
      summary: 'The attempts of late',
      description: 'Newest first, of the last 10,000 or 32 MB; `oldest` says how far back they reach.',
      query: attemptsShape,
      answers: {
        200: { description: 'A page.', body: pageOf(attemptShape).extend({ oldest: timeShape }) },
      },
      async handle({ query }) {
        if (!(await isLoadedSoon(attempts))) return loading
        const { newest } = attempts
        const { items, next } = newest.page({ ...query, isWanted: isAskedFor(query) })
        const oldest = newest.oldest()
        return {
          status: 200,
          body: {
            items: items.map(({ attempt }) => shownAttempt(attempt)),
            next,
            oldest: oldest === null ? null : isoTime(oldest),
          },
        }
      },
    }),
  })
}
