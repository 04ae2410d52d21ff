import type { DeadCount, DeadFilter, DeadLetter } from '../../api/dead-letters.ts'
import type { Destination } from '../../api/destinations.ts'
import type { NewReplay } from '../../api/replays.ts'
import { hoursBefore } from '../../wording/format.ts'

/** The API limits the deliveries of one request. */
const MAX_DELIVERIES = 1_000

/** Groups dead letters into one request per destination, or several if there are many. */
export function requestsForLetters(letters: readonly DeadLetter[]): NewReplay[] {
  const byDestination = Map.groupBy(letters, ({ destinationId }) => destinationId)
  return [...byDestination].flatMap(([destinationId, group]) =>
    chunks(
      group.map(({ deliveryId }) => deliveryId),
      MAX_DELIVERIES,
    ).map((deliveryIds) => ({ destinationId, what: 'dead' as const, deliveryIds })),
  )
}

/** `counts`: dead letters by destination and reason. If `isPartial`, there are more that are not counted. */
export type Totals = {
  counts: readonly DeadCount[]
  isPartial: boolean
  /** Undefined while they are loading. */
  destinations: readonly Pick<Destination, 'id' | 'enabled'>[] | undefined
}

/** One request per destination that may have matching dead letters. @param now ms since 1970. */
export function requestsForFilter(
  filter: DeadFilter,
  { letters, now, ...totals }: Totals & { letters: readonly DeadLetter[]; now: number },
): NewReplay[] {
  // the API cannot replay by message id
  if (filter.messageId !== undefined) return requestsForLetters(letters)
  const { destinationId, reason, hours } = filter
  return destinationIdsFor({ destinationId, reason }, totals).map((id) => ({
    destinationId: id,
    what: 'dead',
    ...(reason && { reason }),
    ...(hours !== undefined && { from: hoursBefore(hours, now) }),
  }))
}

function destinationIdsFor(
  { destinationId, reason }: { destinationId: string | undefined; reason: string | undefined },
  { counts, isPartial, destinations = [] }: Totals,
): string[] {
  if (destinationId !== undefined) return [destinationId]
  const matching = counts.filter((count) => count.reason === (reason ?? count.reason))
  const ids = matching.map((count) => count.destinationId)
  // dead letters that are not counted may belong to any destination
  return [...new Set([...ids, ...(isPartial ? destinations.map(({ id }) => id) : [])])]
}

/** A destination that cannot be replayed to: it is off or deleted. */
export type Skipped = { destinationId: string; why: 'off' | 'deleted' }

export function startable(
  requests: readonly NewReplay[],
  destinations: Totals['destinations'],
): { requests: NewReplay[]; skipped: Skipped[] } {
  const enabledById = destinations && new Map(destinations.map(({ id, enabled }) => [id, enabled]))
  // while destinations are loading, the API decides
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

/** 128 random bits in hex. `crypto.randomUUID` exists only on pages with https. */
export const newReplayId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}

/** Deliveries per second, from 1 to 10,000. @returns undefined if the text is no such number. */
export function parseRate(typed: string): number | undefined {
  const value = Number(typed)
  return typed.trim() !== '' && value >= 1 && value <= 10_000 ? value : undefined
}

/** @param choice a number of hours up to now, or `custom` for the typed local times, where an empty end means now. */
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
