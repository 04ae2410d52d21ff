import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Logger } from '../../log.ts'
import type { AttemptRouteParts } from '../attempts/routes.ts'
import type { Answer } from '../http/answer.ts'
import { isoTime, timeShape } from '../http/iso-time.ts'
import { operation } from '../http/operation.ts'
import { pageOf } from '../http/page.ts'
import { path } from '../http/serve.ts'
import { isLoadedSoon, loading, unreachable } from '../newest/loaded.ts'
import { patiently } from '../patience.ts'
import { afterwards } from './afterwards.ts'
import { countShape, counts } from './counts.ts'
import { isThere } from './extent.ts'
import type { DeadLetters } from './follow.ts'
import { type DeadAsked, deadShape, isAskedFor } from './query.ts'
import { deadLetterShape, shownDead } from './shown.ts'

export type DeadRouteParts = { dead: Omit<DeadLetters, 'close'>; log: Pick<Logger, 'warn'> }

const answerShape = pageOf(deadLetterShape).extend({
  counts: z.array(countShape),
  partial: z.boolean().describe('Whether the topic has more than is counted.'),
  oldest: timeShape,
})

/** `/dead`: how many deliveries were given up and why, and which, newest first. */
export function deadRoutes(api: FastifyInstance, parts: DeadRouteParts & AttemptRouteParts): void {
  const { dead, log } = parts
  path(api, '/dead', {
    GET: operation({
      summary: 'What was given up',
      description:
        '`counts`: of each destination and reason, of the last 100,000; `partial`: there are more. `items`: newest first.',
      query: deadShape,
      answers: { 200: { description: 'Counts, and a page.', body: answerShape } },
      async handle({ query }) {
        if (!(await isLoadedSoon(dead))) return loading
        try {
          return await patiently(answer(query, parts))
        } catch (err) {
          log.warn({ err }, 'dead letters could not be read')
          return unreachable
        }
      },
    }),
  })
}

async function answer(
  asked: DeadAsked,
  { dead, attempts }: DeadRouteParts & AttemptRouteParts,
): Promise<Answer> {
  const lows = await dead.lows()
  const there = dead.newest.all().filter((letter) => isThere(lows, letter))
  const isWanted = isAskedFor(asked)
  const { items, next } = dead.newest.page({
    ...asked,
    isWanted: (letter) => isWanted(letter) && isThere(lows, letter),
  })
  const bodies = await dead.readBodies(items)
  const oldest = dead.newest.oldest()
  return {
    status: 200,
    body: {
      counts: counts(there),
      partial: dead.isPartial(lows),
      oldest: oldest === null || there.length === 0 ? null : isoTime(oldest),
      items: items.map((letter) =>
        shownDead(letter, {
          delivery: bodies.get(letter),
          afterwards: afterwards(letter, attempts.ofMessage(letter.messageId)),
        }),
      ),
      next,
    },
  }
}
