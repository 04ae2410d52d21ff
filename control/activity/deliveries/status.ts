import type { Ladder } from '../../../delivery/ladder.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { DeadLetter } from '../dead/dead-letter.ts'
import { type DeliveryState, OPEN, stateOf } from '../events/delivery-status.ts'
import { type History, historyOf } from '../events/history.ts'
import { mergeAttempts, type Trace } from '../events/trace.ts'
import { matchesStatus } from '../records/query-fields.ts'
import type { DeliveriesQuery, Listed } from './listed.ts'
import type { DeliverySearch, Select } from './search.ts'

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

type StatusLookUp = {
  /** Undefined if the query selects by neither state nor status. */
  select: Select | undefined
  /** @param listed items that `select` has selected, in their order. */
  of(listed: readonly Listed[]): Promise<(readonly [Listed, Status])[]>
  /** How many deliveries `select` left out because their attempts are not known. */
  unknown(): number
}

/** For one search. Looks up each status once. */
export function createStatusLookUp(query: DeliveriesQuery, parts: StatusParts): StatusLookUp {
  const selected = new Map<Listed, Status>()
  const filter = statusFilter(query)
  let unknown = 0

  async function select(listed: readonly Listed[]): Promise<ReadonlySet<Listed>> {
    for (const [each, status] of await statusesOf(listed, parts))
      if (filter?.(status)) selected.set(each, status)
      else if (status.state === 'unknown') unknown += 1
    return new Set(listed.filter((each) => selected.has(each)))
  }

  return {
    select: filter && select,
    async of(listed) {
      const known = filter ? selected : await statusesOf(listed, parts)
      const statuses = listed.flatMap((each) => {
        const status = known.get(each)
        return status ? [[each, status] as const] : []
      })
      return withAttempts(statuses, parts)
    },
    unknown: () => unknown,
  }
}

function statusFilter({
  state,
  status,
}: Pick<DeliveriesQuery, 'state' | 'status'>): ((of: Status) => boolean) | undefined {
  if (state === undefined && status === undefined) return undefined
  const isStatus = status === undefined ? undefined : matchesStatus(status)
  return (of) =>
    (state === undefined || of.state === state) &&
    (!isStatus || of.attempts.some((each) => isStatus(each.status)) || !!of.dead?.statuses.some(isStatus))
}

/** States of dead letters are known without their attempts, which may be too old to be in memory. */
async function withAttempts(
  statuses: readonly (readonly [Listed, Status])[],
  parts: StatusParts,
): Promise<(readonly [Listed, Status])[]> {
  const unexplained = statuses.filter(([, { dead, attempts }]) => dead && attempts.length === 0)
  const found = await statusesOf(
    unexplained.map(([each]) => each),
    parts,
    true,
  )
  return statuses.map(([each, status]) => {
    const attempts = found.get(each)?.attempts ?? status.attempts
    return [each, { ...status, attempts }] as const
  })
}
