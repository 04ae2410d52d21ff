import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { addPath, operation } from '../../api/operation.ts'
import { isoTime, timeShape } from '../../api/response.ts'
import { pendingByKind, pendingShape, type Tasks } from '../../tasks/task-table.ts'
import { isLoadedSoon, loading, unreachable } from '../following.ts'
import { type IngestRouteParts, intakeOf } from '../ingest-rate.ts'
import { createBroadcast } from '../live/broadcast.ts'
import { STREAM, streamed } from '../live/routes.ts'
import { countSkipped } from '../metrics.ts'
import type { Lag, Report } from './follow.ts'
import { faultShape, type LogFaults } from './log-faults.ts'
import { lagItemShape } from './status.ts'

export type LagRouteParts = IngestRouteParts & {
  lag: Omit<Lag, 'close'>
  tasks: Pick<Tasks, 'pending'>
  faults: Pick<LogFaults, 'all'>
}

const lagShape = z.strictObject({ group: z.string().optional(), topic: z.string().optional() })
const hourShape = z.strictObject({
  items: z
    .array(
      z.strictObject({
        at: timeShape,
        groups: z.array(
          z.strictObject({
            group: z.string(),
            lag: z.number().describe('Of all partitions.'),
            lagSeconds: z.number().nullable().describe('Of the partition that is furthest behind.'),
          }),
        ),
      }),
    )
    .describe('One in ten seconds, oldest first; from before this process began there is none.'),
})
const answerShape = z.strictObject({
  items: z.array(lagItemShape),
  tasks: z.array(pendingShape).describe('What control has still to do, whatever is asked for.'),
  faults: z
    .array(faultShape)
    .describe('What Kafka has lost or removed in the last seven days, newest first, whatever is asked for.'),
  at: timeShape,
})

/** `/lag`: how far each consumer group is behind, in each partition. `/lag/hour`: and was, of late. `/lag/stream`: the same, live, and what comes in. */
export function lagRoutes(api: FastifyInstance, { lag, tasks, faults, intake }: LagRouteParts): void {
  const shown = (report: Report) => lagResponse(report, { tasks, faults })
  const broadcast = createBroadcast({
    current: {
      lag() {
        const report = lag.latest()
        return report && shown(report)
      },
      ingest: () => intakeOf(intake),
    },
    onSkipped: countSkipped('slow'),
  })
  api.addHook('preClose', async () => broadcast.end())
  addPath(api, '/lag', {
    GET: operation({
      summary: 'How far each consumer group is behind',
      description: 'As Kafka has it, looked at every 2 s, whether or not the consumers live.',
      query: lagShape,
      responses: { 200: { description: 'Of each partition, and when it was so.', body: answerShape } },
      async handle({ query: { group, topic } }) {
        if (!(await isLoadedSoon(lag))) return loading
        const report = lag.latest()
        if (!report) return unreachable
        const items = report.items.filter(
          (item) => item.group === (group ?? item.group) && item.topic === (topic ?? item.topic),
        )
        return { status: 200, body: shown({ ...report, items }) }
      },
    }),
  })
  addPath(api, '/lag/hour', {
    GET: operation({
      summary: 'How far each consumer group was behind in the last hour',
      responses: { 200: { description: 'Of each group, every ten seconds.', body: hourShape } },
      handle() {
        const items = lag.hour().map(({ at, groups }) => ({ at: isoTime(at), groups: [...groups] }))
        return { status: 200, body: { items } }
      },
    }),
  })
  addPath(api, '/lag/stream', {
    GET: operation({
      summary: 'Watch how far each consumer group is behind, and how many calls come in',
      description:
        'Server-sent events `lag` (as `GET /api/lag`) and `ingest` (as `GET /api/ingest`), at once and then whenever one has changed, every 2 s at most; `unavailable` for one of which nothing can be said now.',
      responses: { 200: STREAM },
      errorCodes: ['too_many_watchers'],
      handle: async (asked) => ((await isLoadedSoon(lag)) ? streamed(asked, broadcast) : loading),
    }),
  })
}

function lagResponse(
  { items, at }: Report,
  { tasks, faults }: Pick<LagRouteParts, 'tasks' | 'faults'>,
): z.infer<typeof answerShape> {
  return { items: [...items], tasks: pendingByKind(tasks, Date.now()), faults: faults.all(), at: isoTime(at) }
}
