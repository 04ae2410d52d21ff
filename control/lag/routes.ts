import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { problem } from '../answer.ts'
import { path } from '../http.ts'
import { isoTime, timeShape } from '../iso-time.ts'
import { isLoadedSoon, loading } from '../newest/loaded.ts'
import { operation } from '../operation.ts'
import type { Tasks } from '../tasks/follow.ts'
import { undoneByKind, undoneShape } from '../tasks/undone.ts'
import type { Lag } from './follow.ts'
import { lagItemShape } from './item.ts'

export type LagRouteParts = { lag: Omit<Lag, 'close'>; tasks: Pick<Tasks, 'undone'> }

const unreachable = problem(
  { code: 'unavailable', message: 'Kafka has not answered for a while: try again in a moment' },
  { 'retry-after': '5' },
)

const lagShape = z.strictObject({ group: z.string().optional(), topic: z.string().optional() })
const answerShape = z.strictObject({
  items: z.array(lagItemShape),
  tasks: z.array(undoneShape).describe('What control has still to do, whatever is asked for.'),
  at: timeShape,
})

/** `/lag`: how far each consumer group is behind, in each partition. */
export function lagRoutes(api: FastifyInstance, { lag, tasks }: LagRouteParts): void {
  path(api, '/lag', {
    GET: operation({
      summary: 'How far each consumer group is behind',
      description: 'As Kafka has it, looked at every 2 s, whether or not the consumers live.',
      query: lagShape,
      answers: { 200: { description: 'Of each partition, and when it was so.', body: answerShape } },
      async handle({ query: { group, topic } }) {
        if (!(await isLoadedSoon(lag))) return loading
        const report = lag.latest()
        if (!report) return unreachable
        const items = report.items.filter(
          (item) => item.group === (group ?? item.group) && item.topic === (topic ?? item.topic),
        )
        const undone = undoneByKind(tasks, Date.now())
        return { status: 200, body: { items, tasks: undone, at: isoTime(report.at) } }
      },
    }),
  })
}
