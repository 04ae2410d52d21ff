import type { DeadCount, DeadFilter, DeadLetter } from '../../api/dead-letters.ts'
import type { Destination } from '../../api/destinations.ts'
import type { NewReplay } from '../../api/replays.ts'
import { HOUR_MS, hoursBefore } from '../../wording/format.ts'

/** One replay for each destination of some dead letters. The API takes a thousand at once. */
export function ofLetters(letters: readonly DeadLetter[]): NewReplay[] {
  const byDestination = Map.groupBy(letters, ({ destinationId }) => destinationId)
  return [...byDestination].flatMap(([destinationId, its]) =>
    chunks(
      its.map(({ deliveryId }) => deliveryId),
      1_000,
    ).map((deliveryIds) => ({ destinationId, what: 'dead' as const, deliveryIds })),
  )
}

/** What there is: `counts` of each destination and reason, all of them unless it is `isPartial`. */
export type There = {
  counts: readonly DeadCount[]
  isPartial: boolean
  /** Undefined: not known so far. */
  destinations: readonly Pick<Destination, 'id' | 'enabled'>[] | undefined
}

/** All that a filter has, at each destination that it may have any of. A message is its letters alone. @param now ms since 1970. */
export function ofFilter(
  filter: DeadFilter,
  { letters, now, ...there }: There & { letters: readonly DeadLetter[]; now: number },
): NewReplay[] {
  if (filter.messageId !== undefined) return ofLetters(letters)
  const { destinationId, reason, hours } = filter
  return idsOf({ destinationId, reason }, there).map((id) => ({
    destinationId: id,
    what: 'dead',
    ...(reason && { reason }),
    ...(hours !== undefined && { from: hoursBefore(hours, now) }),
  }))
}

function idsOf(
  { destinationId, reason }: { destinationId: string | undefined; reason: string | undefined },
  { counts, isPartial, destinations = [] }: There,
): string[] {
  if (destinationId !== undefined) return [destinationId]
  const counted = counts.filter((count) => count.reason === (reason ?? count.reason))
  const ids = counted.map((count) => count.destinationId)
  // what is not counted may be of any
  return [...new Set([...ids, ...(isPartial ? destinations.map(({ id }) => id) : [])])]
}

/** A replay that cannot be: its destination is off, or there is none. */
export type LeftOut = { destinationId: string; why: 'off' | 'gone' }

/** What can be replayed, and what cannot. */
export function possible(
  wanted: readonly NewReplay[],
  destinations: There['destinations'],
): { wanted: NewReplay[]; leftOut: LeftOut[] } {
  const known = destinations && new Map(destinations.map(({ id, enabled }) => [id, enabled]))
  const isOn = ({ destinationId }: NewReplay) => !known || known.get(destinationId) === true
  const others = new Set(wanted.filter((one) => !isOn(one)).map(({ destinationId }) => destinationId))
  return {
    wanted: wanted.filter(isOn),
    leftOut: [...others].map((destinationId) => ({
      destinationId,
      why: known?.has(destinationId) ? 'off' : 'gone',
    })),
  }
}

/** 128 random bits; what makes UUIDs is there on pages with https alone. */
export const newReplayId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )

function chunks<T>(all: readonly T[], most: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / most) }, (_, index) =>
    all.slice(index * most, (index + 1) * most),
  )
}

/** As the API takes it: from 1 to 10,000. @returns undefined: it is no such number. */
export function perSecondOf(typed: string): number | undefined {
  const value = Number(typed)
  return typed.trim() !== '' && value >= 1 && value <= 10_000 ? value : undefined
}

/**
 * From when to when, in ISO 8601. @param which so many hours up to now, or `own`: what was typed, in the zone of who looks; nothing
 * as its end is now. @returns undefined: that is no time.
 */
export function spanOf(
  which: string,
  typed: { from: string; to: string },
  now: number,
): { from: string; to: string } | undefined {
  const hours = Number(which)
  if (which !== 'own') return { from: isoTime(now - hours * HOUR_MS), to: isoTime(now) }
  const [from, to] = [Date.parse(typed.from), typed.to === '' ? now : Date.parse(typed.to)]
  return from < to ? { from: isoTime(from), to: isoTime(to) } : undefined
}

const isoTime = (time: number) => new Date(time).toISOString()
