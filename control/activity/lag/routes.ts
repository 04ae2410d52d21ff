import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { addPath, operation } from '../../api/operation.ts'
import { isoTime, timeShape } from '../../api/response.ts'
import { type IngestRouteParts, ingestRateOf } from '../figures/ingest-rate.ts'
import { isLoadedSoon, loading, unreachable } from '../records/following.ts'
import { serveBroadcast } from '../stream/broadcast.ts'
import { STREAM, streamed } from '../stream/response.ts'
import type { Lag, Report } from './follow.ts'
import { faultShape, type LogFaults } from './log-faults.ts'
import { blockedGroups } from './observe.ts'
import { type Pending, pendingByKind, pendingShape } from './pending-tasks.ts'
import { lagItemShape } from './status.ts'

export type LagRouteParts = IngestRouteParts & {
  lag: Omit<Lag, 'close'>
  tasks: Pending
  faults: Pick<LogFaults, 'all'>
}

const lagShape = z.strictObject({ group: z.string().optional(), topic: z.string().optional() })
type LagQuery = z.infer<typeof lagShape>
const hourShape = z.strictObject({
  items: z
    .array(
      z.strictObject({
        at: timeShape,
        groups: z.array(
          z.strictObject({
            group: z.string(),
            lag: z.number().describe('Over all partitions.'),
            lagSeconds: z.number().nullable().describe('Of the partition that is furthest behind.'),
          }),
        ),
      }),
    )
    .describe('Every ten seconds, oldest first, since this process started.'),
})
const answerShape = z.strictObject({
  items: z.array(lagItemShape),
  tasks: z.array(pendingShape).describe('Tasks that control has yet to complete, regardless of the query.'),
  faults: z
    .array(faultShape)
    .describe(
      'Records that Kafka lost or removed in the last seven days, newest first, regardless of the query.',
    ),
  missing: z
    .array(z.string())
    .describe('Topics of Sluice that do not exist, regardless of the query. `items` has nothing about them.'),
  blocked: z
    .array(z.strictObject({ group: z.string(), topic: z.string() }))
    .describe('Groups that cannot read, because their topic does not exist.'),
  at: timeShape,
})

export function lagRoutes(api: FastifyInstance, { lag, tasks, faults, ingestRate }: LagRouteParts): void {
  const respond = (report: Report, query: LagQuery = {}) => lagResponse(report, { tasks, faults, query })
  const broadcast = serveBroadcast(api, {
    lag() {
      const report = lag.latest()
      return report && respond(report)
    },
    ingest: () => ingestRateOf(ingestRate),
  })

  addPath(api, '/lag', {
    GET: operation({
      summary: 'Show how far each consumer group is behind',
      description: 'As Kafka reports it every 2 s, whether or not consumers are running.',
      query: lagShape,
      responses: { 200: { description: 'Lag by partition, and when it was observed.', body: answerShape } },
      async handle({ query }) {
        if (!(await isLoadedSoon(lag))) return loading
        const report = lag.latest()
        if (!report) return unreachable
        return { status: 200, body: respond(report, query) }
      },
    }),
  })
  addPath(api, '/lag/hour', {
    GET: operation({
      summary: 'Show how far each consumer group was behind in the last hour',
      responses: { 200: { description: 'Lag by group, every ten seconds.', body: hourShape } },
      handle() {
        const items = lag.hour().map(({ at, groups }) => ({ at: isoTime(at), groups: [...groups] }))
        return { status: 200, body: { items } }
      },
    }),
  })
  addPath(api, '/lag/stream', {
    GET: operation({
      summary: 'Watch how far each consumer group is behind, and the rate of incoming calls',
      description:
        'Server-sent events `lag` (as `GET /api/lag`) and `ingest` (as `GET /api/ingest`), at once and then on every change, at most every 2 s. `unavailable` means that one of them is not known right now.',
      responses: { 200: STREAM },
      errorCodes: ['too_many_watchers'],
      handle: async (request) => ((await isLoadedSoon(lag)) ? streamed(request, broadcast) : loading),
    }),
  })
}

function lagResponse(
  { items, missing, at }: Report,
  { tasks, faults, query }: Pick<LagRouteParts, 'tasks' | 'faults'> & { query: LagQuery },
): z.infer<typeof answerShape> {
  const isAsked = ({ group, topic }: { group: string; topic: string }) =>
    group === (query.group ?? group) && topic === (query.topic ?? topic)
  return {
    items: items.filter(isAsked),
    tasks: pendingByKind(tasks, Date.now()),
    faults: faults.all(),
    missing: [...missing],
    blocked: blockedGroups(missing).filter(isAsked),
    at: isoTime(at),
  }
}
