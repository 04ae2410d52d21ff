import type { FastifyInstance } from 'fastify'
import type { FencedWriter } from '../../kafka/fenced.ts'
import type { Range } from '../../kafka/range.ts'
import type { Logger } from '../../log.ts'
import type { Settings } from '../../schemas/follow.ts'
import type { Replay } from '../../schemas/task.ts'
import { audit } from '../audit.ts'
import type { DeadRouteParts } from '../dead/routes.ts'
import type { Answer } from '../http/answer.ts'
import { type Asked, json, operation } from '../http/operation.ts'
import { pageOf } from '../http/page.ts'
import { answerTo, type Refusal } from '../http/refusal.ts'
import { path } from '../http/serve.ts'
import { isLoadedSoon, loading } from '../newest/loaded.ts'
import { patiently } from '../patience.ts'
import { conditionally } from '../settings/conditionally.ts'
import { isObject } from '../settings/members.ts'
import type { Facts } from '../settings/noun.ts'
import { unavailable } from '../settings/outcome.ts'
import type { Tasks } from '../tasks/follow.ts'
import { taskRecord } from '../tasks/record.ts'
import { decideReplay, replayShape } from './decide.ts'
import { listed, replaysShape } from './list.ts'
import { topicOf } from './make.ts'
import { shownReplay, shownShape } from './shown.ts'
import { spanning, taskOf } from './task.ts'

export type ReplayRouteParts = {
  settings: Pick<Facts, 'destinations'> & { table: Pick<Settings['table'], 'caughtUp'> }
  tasks: Pick<Tasks, 'replays' | 'table'>
  taskWriter: Pick<FencedWriter, 'write'>
  /** Where in a topic the records of a time are; times in milliseconds since 1970. */
  rangesOf: (wanted: { topic: string; from: number; to: number }) => Promise<Range[]>
  dead: Pick<DeadRouteParts['dead'], 'newest' | 'loaded' | 'isLoaded'>
  log: Logger
}

const it = { description: 'The replay.', body: shownShape }

/** `/replays`: list, create. `/replays/:id`: how far it is, cancel. */
export function replayRoutes(api: FastifyInstance, parts: ReplayRouteParts): void {
  const { replays } = parts.tasks
  const missing = (id: string) => answerTo({ code: 'not_found', what: `replay ${id}` })
  path(api, '/replays', {
    GET: operation({
      summary: 'List replays',
      query: replaysShape,
      answers: { 200: { description: 'A page.', body: pageOf(shownShape) } },
      handle({ query }) {
        const { items, next } = listed(replays.values(), query)
        return { status: 200, body: { items: items.map(shownReplay), next } }
      },
    }),
    POST: operation({
      summary: 'Deliver again what was given up, or what came in',
      body: json(replayShape),
      answers: { 202: { ...it, headers: ['location'] } },
      refuses: ['id_taken'],
      handle: (request) => create(request, parts),
    }),
  })
  path(api, '/replays/:id', {
    GET: operation({
      summary: 'How far a replay is',
      answers: { 200: it },
      refuses: ['not_found'],
      handle({ params: { id } }) {
        const replay = replays.get(id)
        return replay ? { status: 200, body: shownReplay(replay) } : missing(id)
      },
    }),
    DELETE: operation({
      summary: 'Cancel a replay',
      answers: { 200: it },
      refuses: ['not_found', 'replay_ended'],
      handle: (request) =>
        replays.has(request.params.id) ? cancel(request, parts) : missing(request.params.id),
    }),
  })
}

async function create({ body, caller }: Asked, parts: ReplayRouteParts): Promise<Answer> {
  const { settings, tasks, dead, log } = parts
  if (isObject(body) && body.deliveryIds !== undefined && !(await isLoadedSoon(dead))) return loading
  const now = Date.now()
  const { destinations } = settings
  const deciding = () =>
    decideReplay({ body, destinations, replays: tasks.replays, dead: dead.newest.all(), now })
  const wish = deciding()
  if ('refusal' in wish) return answerTo(wish.refusal)
  const { wanted } = wish
  const replay = taskOf(wanted, now)
  try {
    replay.ranges = replay.places
      ? spanning(replay.places)
      : await patiently(parts.rangesOf({ ...wanted, topic: topicOf(replay) }))
  } catch (err) {
    log.warn({ err }, 'the records of a replay cannot be found')
    return unavailable
  }
  const decide = () => {
    const decided = deciding()
    return 'refusal' in decided ? decided : replay
  }
  const outcome = await written(decide, parts)
  if (outcome === unavailable) audit(log, caller, { what: 'replay', outcome: 'unavailable', id: replay.id })
  if ('status' in outcome) return outcome
  const { id, destinationId, what, reason, places } = outcome
  const of = { destinationId, of: what, reason, selected: places?.length }
  audit(log, caller, { what: 'replay', outcome: 'created', id, ...of })
  return { status: 202, headers: { location: `/api/replays/${id}` }, body: shownReplay(outcome) }
}

async function cancel({ params: { id }, caller }: Asked, parts: ReplayRouteParts): Promise<Answer> {
  const finishedAt = new Date().toISOString()
  const decide = (): Replay | { refusal: Refusal } => {
    const replay = parts.tasks.replays.get(id)
    if (!replay) return { refusal: { code: 'not_found', what: `replay ${id}` } }
    if (replay.state === 'accepted') return { ...replay, state: 'cancelled', finishedAt }
    const message = `replay ${id} is ${replay.state} already`
    return { refusal: { code: 'in_use', faults: [{ pointer: '', code: 'replay_ended', message }] } }
  }
  const outcome = await written(decide, parts)
  if (outcome === unavailable) audit(parts.log, caller, { what: 'replay', outcome: 'unavailable', id })
  if ('status' in outcome) return outcome
  audit(parts.log, caller, { what: 'replay', outcome: 'cancelled', id })
  return { status: 200, body: shownReplay(outcome) }
}

async function written(
  decide: () => Replay | { refusal: Refusal },
  { settings, tasks, taskWriter: writer, log }: ReplayRouteParts,
): Promise<Replay | Answer> {
  const outcome = await conditionally(
    { tables: [settings.table, tasks.table], writer, log },
    { decide, records: (replay) => [taskRecord(replay)] },
  )
  if (outcome === 'unavailable') return unavailable
  return 'refusal' in outcome ? answerTo(outcome.refusal) : outcome
}
