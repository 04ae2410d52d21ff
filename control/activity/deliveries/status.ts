import type { Ladder } from '../../../delivery/ladder.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { DeadLetter } from '../dead/dead-letter.ts'
import { type DeliveryState, OPEN, stateOf } from '../events/delivery-status.ts'
import { type History, historyOf } from '../events/history.ts'
import { mergeAttempts, type Trace } from '../events/trace.ts'
import { matchesStatus } from '../records/query-fields.ts'
import type { DeliveriesQuery, Listed } from './listed.ts'
import type { DeliverySearch } from './search.ts'

/** `attempts`: known ones, oldest first. `nextAttemptAt`: ms since 1970. */
export type Status = {
  state: DeliveryState
  attempts: readonly Attempt[]
  nextAttemptAt: number | null
  dead: DeadLetter | undefined
}

type Known = ReturnType<History['of']> & Pick<History, 'knownSince'>

/** Clocks differ: an attempt may seem to start before its delivery was made. */
const CLOCK_TOLERANCE_MS = 2_000

/** A replay starts over: earlier attempts belong to the original entry. */
function statusOf(
  { routedAt, replay }: Pick<Listed, 'routedAt' | 'replay'>,
  known: Known,
  ladder: Ladder,
): Status {
  const since = replay ? routedAt - CLOCK_TOLERANCE_MS : Number.NEGATIVE_INFINITY
  const attempts = known.attempts.filter(({ startedAt }) => startedAt >= since)
  const dead = known.dead && known.dead.time >= since ? known.dead : undefined
  const { state, nextAttemptAt } = stateOf(routedAt, { ...known, attempts, dead, isRouted: true }, ladder)
  return { state: state ?? 'unknown', attempts, nextAttemptAt, dead }
}

export function statusFilter({
  state,
  status,
}: Pick<DeliveriesQuery, 'state' | 'status'>): ((of: Status) => boolean) | undefined {
  if (state === undefined && status === undefined) return undefined
  const isStatus = status === undefined ? undefined : matchesStatus(status)
  return (of) =>
    (state === undefined || of.state === state) &&
    (!isStatus || of.attempts.some((each) => isStatus(each.status)) || !!of.dead?.statuses.some(isStatus))
}

export type StatusParts = Parameters<typeof historyOf>[1] & {
  trace: Trace
  ladder: Ladder
  deliveries: Pick<DeliverySearch, 'unsettled'>
}

/**
 * Looks for attempts in memory, then in their topic.
 * @param withAllAttempts even if the state is known without them.
 */
export async function statusesOf(
  listed: readonly Listed[],
  { trace, ladder, deliveries, ...held }: StatusParts,
  withAllAttempts = false,
): Promise<Map<Listed, Status>> {
  const history = historyOf(listed, held)
  const { knownSince } = history

  function all(traced?: Map<string, Attempt[]>): Map<Listed, Status> {
    return new Map(
      listed.map((each) => {
        const { attempts, dead } = history.of(each.deliveryId, each.user)
        const found = traced?.get(each.deliveryId)
        const known = { attempts: found ? mergeAttempts(found, attempts) : attempts, dead, knownSince }
        return [each, statusOf(each, known, ladder)]
      }),
    )
  }

  const first = all()
  const incomplete = [...first].filter(([{ routedAt }, { state, attempts }]) =>
    withAllAttempts
      ? routedAt < knownSince
      : OPEN.has(state) && (attempts.at(-1)?.startedAt ?? routedAt) < knownSince,
  )
  if (incomplete.length === 0) return first
  const traced = await trace(
    incomplete.map(([each]) => ({ ...each, receivedAt: each.routedAt })),
    knownSince,
  )
  return withWaiting(all(traced), deliveries)
}

/** With a backlog, an old delivery without an attempt may still be waiting. */
async function withWaiting(
  statuses: Map<Listed, Status>,
  { unsettled }: Pick<DeliverySearch, 'unsettled'>,
): Promise<Map<Listed, Status>> {
  const unattempted = [...statuses].filter(
    ([, { state, attempts }]) => state === 'unknown' && attempts.length === 0,
  )
  if (unattempted.length === 0) return statuses
  for (const listed of await unsettled(unattempted.map(([listed]) => listed))) {
    const status = statuses.get(listed)
    if (status) statuses.set(listed, { ...status, state: 'waiting' })
  }
  return statuses
}
