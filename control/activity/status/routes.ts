import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Storage } from '../../../kafka/admin/storage.ts'
import type { Settings } from '../../../settings/follow.ts'
import { KINDS } from '../../../settings/settings.ts'
import { addPath, operation } from '../../api/operation.ts'
import { isoTime, timeShape } from '../../api/response.ts'
import type { Lag } from '../lag/follow.ts'
import type { LogFaults } from '../lag/log-faults.ts'
import { isLoadedSoon, loading } from '../records/following.ts'
import { PROBLEM_CODES, type Problem, SEVERITIES } from './problem.ts'
import { problemsOf } from './problems.ts'

export type StatusParts = {
  settings: Pick<Settings, 'unreadable' | 'isFresh'>
  storage: Pick<Storage, 'shortage' | 'rooms'>
  lag: Omit<Lag, 'close' | 'hour'>
  faults: Pick<LogFaults, 'all'>
  /** For the first observation. Default: as in other views. */
  timeoutMs?: number
}

/**
 * Remembers since when each problem lasts.
 * @param now ms since 1970.
 */
export function createStatus(
  { settings, storage, lag, faults }: StatusParts,
  now: () => number = Date.now,
): { problems(): Problem[] } {
  let since = new Map<string, number>()
  let freshAt = now()
  return {
    problems() {
      if (settings.isFresh()) freshAt = now()
      const found = problemsOf({
        now: now(),
        report: lag.latest(),
        windowMs: lag.windowMs,
        silentMs: lag.silentMs(),
        settingsBehindMs: now() - freshAt,
        shortage: storage.shortage(),
        rooms: storage.rooms(),
        faults: faults.all(),
        unreadable: settings.unreadable.values(),
      }).map((problem) => ({ ...problem, since: since.get(problem.subject) ?? problem.since }))
      since = new Map(found.map((problem) => [problem.subject, problem.since]))
      return found
    },
  }
}

const nullable = z.string().nullable()

const problemShape = z
  .strictObject({
    code: z
      .enum(PROBLEM_CODES)
      .describe(
        '`kafka_unreachable`: Kafka does not answer. `settings_outdated`: control cannot follow the settings. `topic_missing`: a topic of Sluice does not exist. `group_stopped`: a consumer group has work, but no process that responds. `group_stalled`: it has a process, but makes no progress. `group_rewound`: its offset was set back. `storage_full`: Kafka is short of space, so calls are refused and retries wait. `storage_low`: it soon will be. `setting_unreadable`: control cannot read the record of a setting. `records_lost`: Kafka has lost records in the last hour.',
      ),
    severity: z
      .enum(SEVERITIES)
      .describe(
        '`error`: calls are refused, or events do not move. `warning`: everything moves, but look at it.',
      ),
    message: z.string().describe('What is wrong, and what that means.'),
    action: z.string().describe('What to do.'),
    since: timeShape.describe('Since when, as far as this process knows.'),
    page: nullable.describe('Path of the page in the console that shows more.'),
    runbook: z.string().describe('The section of the runbook.'),
    group: nullable.describe('The consumer group in trouble.'),
    setting: z
      .strictObject({
        kind: z.enum(KINDS),
        id: z.string(),
        isKept: z
          .boolean()
          .describe('Whether its previous version is still in use. False: the setting is ignored.'),
      })
      .nullable()
      .describe('The setting that cannot be read.'),
  })
  .meta({ id: 'SystemProblem' })

const statusShape = z.strictObject({
  state: z.enum(['ok', 'warning', 'error']).describe('The worst severity; `ok` without problems.'),
  problems: z.array(problemShape).describe('Worst first.'),
  at: timeShape,
})

/** Looks even if no one asks, to know when problems begin. */
const LOOK_MS = 1_000

export function statusRoutes(api: FastifyInstance, parts: StatusParts): void {
  const { problems } = createStatus(parts)
  const looking = setInterval(problems, LOOK_MS).unref()
  api.addHook('onClose', async () => clearInterval(looking))
  addPath(api, '/status', {
    GET: operation({
      summary: 'Show what is wrong with the system right now',
      description:
        'Consumer groups, Kafka, its space, its topics and the settings, as control sees them from outside. Answers also while Kafka is away.',
      responses: { 200: { description: 'The problems; normally none.', body: statusShape } },
      async handle() {
        const isObserved = await isLoadedSoon(parts.lag, parts.timeoutMs)
        const found = problems().map(shown)
        // without an observation, all groups would seem well
        if (!isObserved && found.length === 0) return loading
        return {
          status: 200,
          body: { state: found[0]?.severity ?? 'ok', problems: found, at: isoTime(Date.now()) },
        }
      },
    }),
  })
}

const shown = ({ subject: _, since, runbook, ...problem }: Problem): z.infer<typeof problemShape> => ({
  ...problem,
  since: isoTime(since),
  runbook: `ops/runbook.md#${runbook}`,
})
