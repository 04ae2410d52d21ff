import type { DeadFilter, DeadLetter } from '../../api/dead-letters.ts'
import { type Delivery, isInProgress } from '../../api/deliveries.ts'
import type { Destination } from '../../api/destinations.ts'
import type { NewReplay } from '../../api/replays.ts'
import { hoursBefore, pluralize } from '../../wording/format.ts'

/** The API's limit for one request. */
const MAX_DELIVERIES = 1_000

type Sent = Pick<DeadLetter | Delivery, 'destinationId' | 'deliveryId' | 'user'>

/** Of each delivery, its newest entry or dead letter: it is sent once. @param all newest first */
export function newestOfEach<T extends Sent>(all: readonly T[]): T[] {
  const seen = new Set<string>()
  return all.filter((each) => {
    const key = keyOf(each)
    const isNewest = !seen.has(key)
    seen.add(key)
    return isNewest
  })
}

/** Users whose calls share a messageId share a deliveryId. */
const keyOf = ({ destinationId, deliveryId, user }: Sent) => JSON.stringify([destinationId, deliveryId, user])

/** One request per destination, or several if there are many dead letters. */
export function requestsForLetters(
  letters: readonly Pick<DeadLetter, 'destinationId' | 'id'>[],
): NewReplay[] {
  const byDestination = Map.groupBy(letters, ({ destinationId }) => destinationId)
  return [...byDestination].flatMap(([destinationId, group]) =>
    chunks(group, MAX_DELIVERIES).map((some) => ({
      destinationId,
      what: 'dead' as const,
      entries: some.map(({ id }) => id),
    })),
  )
}

export type MatchingCount = { destinationId: string; count: number }

/** `matching`: counted dead letters that match the filter and were not replayed. */
export type Totals = {
  matching: readonly MatchingCount[]
  /** Whether some dead letters are not counted. */
  isPartial: boolean
  /** Undefined while loading. */
  destinations: readonly Pick<Destination, 'id' | 'enabled'>[] | undefined
  /** ms since 1970 */
  now: number
}

/** One request per destination that may have matches. Skips replayed dead letters. */
export function requestsForFilter(
  filter: DeadFilter,
  { matching, isPartial, destinations = [], now }: Totals,
): NewReplay[] {
  // the API cannot replay by message id; `skipReplayed` replaces the filter by `replayed`
  const { destinationId, hours, since, until, messageId: _, replayed: __, ...conditions } = filter
  const from = since ?? (hours === undefined ? undefined : hoursBefore(hours, now))
  const counted = matching.map((each) => each.destinationId)
  // uncounted dead letters may belong to any destination
  const others = destinationId === undefined ? destinations.map(({ id }) => id) : [destinationId]
  return [...new Set([...counted, ...(isPartial ? others : [])])].map((id) => ({
    destinationId: id,
    what: 'dead',
    skipReplayed: true,
    ...conditions,
    ...(from !== undefined && { from }),
    ...(until !== undefined && { to: until }),
  }))
}

export function describeMatching(
  requests: readonly NewReplay[],
  { matching, isPartial }: Pick<Totals, 'matching' | 'isPartial'>,
): string {
  const ids = new Set(requests.map(({ destinationId }) => destinationId))
  const count = matching.reduce((sum, each) => sum + (ids.has(each.destinationId) ? each.count : 0), 0)
  return `${isPartial ? 'at least ' : ''}${pluralize(count, 'dead letter')}`
}

/** The newest entry of each delivery, except deliveries in progress. */
export const resendable = (entries: readonly Delivery[]): Delivery[] =>
  newestOfEach(entries).filter(({ state }) => !isInProgress(state))

/** Dead deliveries are replayed as dead letters, so that they count as replayed. */
export function requestsForDeliveries(entries: readonly Delivery[]): NewReplay[] {
  const isDead = ({ state }: Delivery) => state === 'dead' || state === 'rejected'
  const letters = entries.flatMap((each) =>
    isDead(each) && each.deadLetter !== null ? { ...each, id: each.deadLetter } : [],
  )
  const others = entries.filter((each) => !isDead(each) || each.deadLetter === null)
  const resent = Map.groupBy(others, ({ destinationId, replay }) => `${destinationId} ${replay}`)
  return [
    ...requestsForLetters(letters),
    ...[...resent.values()].flatMap((group) =>
      chunks(group, MAX_DELIVERIES).map((some) => ({
        destinationId: some[0]?.destinationId ?? '',
        what: 'deliveries' as const,
        entries: some.map(({ id }) => id),
      })),
    ),
  ]
}

export type Skipped = { destinationId: string; why: 'off' | 'deleted' }

export function startable(
  requests: readonly NewReplay[],
  destinations: Totals['destinations'],
): { requests: NewReplay[]; skipped: Skipped[] } {
  const enabledById = destinations && new Map(destinations.map(({ id, enabled }) => [id, enabled]))
  // while destinations load, the API decides
  const isOn = ({ destinationId }: NewReplay) => !enabledById || enabledById.get(destinationId) === true
  const skippedIds = new Set(requests.filter((one) => !isOn(one)).map(({ destinationId }) => destinationId))
  return {
    requests: requests.filter(isOn),
    skipped: [...skippedIds].map((destinationId) => ({
      destinationId,
      why: enabledById?.has(destinationId) ? 'off' : 'deleted',
    })),
  }
}

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}

/** Deliveries per second, 1 to 10,000; undefined for anything else. */
export function parseRate(typed: string): number | undefined {
  const value = Number(typed)
  return typed.trim() !== '' && value >= 1 && value <= 10_000 ? value : undefined
}

/** @param choice hours up to now, or `custom` for the typed local times. An empty end means now. */
export function periodOf(
  choice: string,
  typed: { from: string; to: string },
  now: number,
): { from: string; to: string } | undefined {
  if (choice !== 'custom') return { from: hoursBefore(Number(choice), now), to: isoTime(now) }
  const [from, to] = [Date.parse(typed.from), typed.to === '' ? now : Date.parse(typed.to)]
  return from < to ? { from: isoTime(from), to: isoTime(to) } : undefined
}

const isoTime = (time: number) => new Date(time).toISOString()
