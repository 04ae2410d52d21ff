import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import type { Range } from '../../../kafka/tables/ranges.ts'
import { isObject } from '../../../process/json-objects.ts'
import type { Logger } from '../../../process/log.ts'
import { withTimeout } from '../../../process/timeout.ts'
import { type Replay, replayTask, topicOf } from '../../../schemas/task.ts'
import type { Settings } from '../../../settings/follow.ts'
import type { Refusal } from '../../../settings/resources/decide.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { seenBy, visibleTo } from '../../../settings/resources/workspaces.ts'
import { idShape } from '../../../settings/settings.ts'
import type { DeadRouteParts } from '../../activity/dead/routes.ts'
import { isLoadedSoon, loading, unreachable } from '../../activity/records/following.ts'
import { audit } from '../../api/audit.ts'
import { CLIENT_WAIT_MS } from '../../api/concurrency.ts'
import { unavailable, writeConditionally } from '../../api/conditional-write.ts'
import { type ApiRequest, addPath, json, operation } from '../../api/operation.ts'
import { type Page, pageOf, pageOfTasks, tasksPageShape } from '../../api/pagination.ts'
import { type ApiResponse, refusalResponse } from '../../api/response.ts'
import { type Tasks, taskRecord } from '../task-table.ts'
import { decideReplay, replayShape, taskOf } from './decide.ts'
import { spanOf } from './select.ts'

const replayResponseShape = replayTask
  .omit({ kind: true, ranges: true, places: true, resent: true, done: true })
  .extend({
    state: z.enum(['running', 'done', 'cancelled', 'failed']),
    total: z.number().int().nonnegative().describe('Number of records to read.'),
    selected: z
      .number()
      .int()
      .positive()
      .optional()
      .describe('Number of deliveries selected by deliveryIds or entries.'),
  })
  .strict()
  .meta({ id: 'Replay' })

export type ReplayRouteParts = {
  settings: Pick<Facts, 'destinations'> & { table: Pick<Settings['table'], 'caughtUp'> }
  tasks: Pick<Tasks, 'replays' | 'table'>
  taskWriter: Pick<FencedWriter, 'write'>
  /** Times in milliseconds since 1970. */
  rangesOf: (span: { topic: string; from: number; to: number }) => Promise<Range[]>
  dead: Pick<DeadRouteParts['dead'], 'recent' | 'loaded' | 'isLoaded'>
  log: Logger
}

const REPLAY = { description: 'The replay.', body: replayResponseShape }

export function replayRoutes(api: FastifyInstance, parts: ReplayRouteParts): void {
  const { replays } = parts.tasks
  addPath(api, '/replays', {
    GET: operation({
      summary: 'List replays',
      query: replaysShape,
      responses: { 200: { description: 'A page.', body: pageOf(replayResponseShape) } },
      inWorkspace: true,
      handle({ query, caller }) {
        const seen = replays.values().filter(seenBy(caller, parts.settings.destinations))
        const { items, next } = listed(seen, query)
        return { status: 200, body: { items: items.map(replayResponse), next } }
      },
    }),
    POST: operation({
      summary: 'Replay dead letters, past events or deliveries',
      body: json(replayShape),
      responses: { 202: { ...REPLAY, headers: ['location'] } },
      errorCodes: ['id_taken'],
      inWorkspace: true,
      handle: (request) => create(request, parts),
    }),
  })
  addPath(api, '/replays/:id', {
    GET: operation({
      summary: 'Show a replay',
      responses: { 200: REPLAY },
      errorCodes: ['not_found'],
      inWorkspace: true,
      handle({ params: { id }, caller }) {
        const replay = replays.get(id)
        if (!replay || !seenBy(caller, parts.settings.destinations)(replay))
          return refusalResponse({ code: 'not_found', what: `replay ${id}` })
        return { status: 200, body: replayResponse(replay) }
      },
    }),
    DELETE: operation({
      summary: 'Cancel a replay',
      responses: { 200: REPLAY },
      errorCodes: ['not_found', 'replay_ended'],
      inWorkspace: true,
      handle: (request) => cancel(request, parts),
    }),
  })
}

async function create({ body, caller }: ApiRequest, parts: ReplayRouteParts): Promise<ApiResponse> {
  const { settings, tasks, dead, log } = parts
  if (isObject(body) && body.deliveryIds !== undefined && !(await isLoadedSoon(dead))) return loading
  const now = Date.now()
  const deciding = () => {
    const { workspaceId } = caller
    const destinations = visibleTo(caller, settings.destinations)
    const { replays } = tasks
    return decideReplay({ body, destinations, workspaceId, replays, dead: dead.recent.all(), now })
  }
  let decided = deciding()
  if ('refusal' in decided && isForDestination(decided.refusal)) {
    // another process may just have created or enabled it
    const isCaughtUp = await caughtUp(parts)
    if (!isCaughtUp) return unreachable
    decided = deciding()
  }
  if ('refusal' in decided) return refusalResponse(decided.refusal)
  const { request } = decided
  const replay = taskOf(request, now)
  try {
    replay.ranges = replay.places
      ? spanOf(replay.places)
      : await withTimeout(parts.rangesOf({ ...request, topic: topicOf(replay) }), CLIENT_WAIT_MS)
  } catch (err) {
    log.warn({ err }, 'the records of a replay cannot be found')
    return unreachable
  }
  const decide = () => {
    const again = deciding()
    return 'refusal' in again ? again : replay
  }
  const outcome = await written(decide, parts)
  if (outcome === unavailable) audit(log, caller, { what: 'replay', outcome: 'unavailable', id: replay.id })
  if (!('kind' in outcome)) return outcome
  const { id, destinationId, what, reason, places } = outcome
  const of = { destinationId, of: what, reason, selected: places?.length }
  audit(log, caller, { what: 'replay', outcome: 'created', id, ...of })
  return { status: 202, headers: { location: `/api/replays/${id}` }, body: replayResponse(outcome) }
}

const isForDestination = (refusal: Refusal): boolean =>
  'faults' in refusal &&
  refusal.faults.some(({ code }) => code === 'unknown_destination' || code === 'destination_disabled')

async function caughtUp({ settings, log }: ReplayRouteParts): Promise<boolean> {
  try {
    await withTimeout(settings.table.caughtUp(), CLIENT_WAIT_MS)
    return true
  } catch (err) {
    log.warn({ err }, 'a replay could not be decided: the newest settings could not be read')
    return false
  }
}

async function cancel({ params: { id }, caller }: ApiRequest, parts: ReplayRouteParts): Promise<ApiResponse> {
  const finishedAt = new Date().toISOString()
  const decide = (): Replay | { refusal: Refusal } => {
    const replay = parts.tasks.replays.get(id)
    if (!replay || !seenBy(caller, parts.settings.destinations)(replay))
      return { refusal: { code: 'not_found', what: `replay ${id}` } }
    if (replay.state === 'accepted') return { ...replay, state: 'cancelled', finishedAt }
    const message = `replay ${id} is already ${replay.state}`
    return { refusal: { code: 'in_use', faults: [{ pointer: '', code: 'replay_ended', message }] } }
  }
  const outcome = await written(decide, parts)
  if (outcome === unavailable) audit(parts.log, caller, { what: 'replay', outcome: 'unavailable', id })
  if (!('kind' in outcome)) return outcome
  audit(parts.log, caller, { what: 'replay', outcome: 'cancelled', id })
  return { status: 200, body: replayResponse(outcome) }
}

async function written(
  decide: () => Replay | { refusal: Refusal },
  { settings, tasks, taskWriter: writer, log }: ReplayRouteParts,
): Promise<Replay | ApiResponse> {
  const outcome = await writeConditionally(
    { tables: [settings.table, tasks.table], writer, log },
    { decide, records: (replay) => [taskRecord(replay)] },
  )
  if (outcome === 'unavailable') return unavailable
  return 'refusal' in outcome ? refusalResponse(outcome.refusal) : outcome
}

export const replaysShape = tasksPageShape.extend({
  destinationId: idShape.optional().describe('Only replays to this destination.'),
})

export function listed(
  replays: Iterable<Replay>,
  { destinationId, ...query }: z.infer<typeof replaysShape>,
): Page<Replay> {
  const matching = [...replays].filter(
    (replay) => replay.destinationId === (destinationId ?? replay.destinationId),
  )
  return pageOfTasks(matching, query)
}

function replayResponse({
  kind: _,
  ranges,
  places,
  resent: __,
  done: ___,
  state,
  ...rest
}: Replay): z.infer<typeof replayResponseShape> {
  const total = ranges.reduce((sum, { from, to }) => sum + to - from, 0)
  return {
    ...rest,
    ...(places && { selected: places.length }),
    state: state === 'accepted' ? 'running' : state,
    total,
  }
}
