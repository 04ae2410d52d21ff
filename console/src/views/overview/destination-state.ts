import type { Destination } from '../../api/destinations.ts'
import type { DestinationNow } from '../../api/health.ts'

/** How a destination is, in words; the heavier, the more it wants to be looked at. */
export type HealthWord = { label: string; color: string; says?: string; weight: number }

/** @param now undefined: nothing has been told of it so far. */
export function healthOf(
  { enabled, sourceIds }: Pick<Destination, 'enabled' | 'sourceIds'>,
  now: DestinationNow | undefined,
): HealthWord {
  if (!enabled) return { label: 'Off', color: 'gray', weight: 0 }
  if (now?.breaker === 'open' || (now?.breaker === 'half-open' && now.delivered === 0))
    return {
      label: 'Failing',
      color: 'red',
      says: 'A URL of it has failed several times in a row: what comes is put off, and it is probed.',
      weight: 5,
    }
  if (now?.state === 'rejecting')
    return {
      label: now.rejectedStatus === null ? 'Rejecting' : `Rejecting: ${now.rejectedStatus}`,
      color: 'red',
      says: 'One of its URLs answers 3xx or 4xx, which is not retried. Check its path and token.',
      weight: 4,
    }
  if (now && now.dead > 0)
    return {
      label: 'Given up',
      color: 'red',
      says: 'Deliveries to it were given up in the last minute.',
      weight: 4,
    }
  if (now && (now.retry > 0 || now.rejected > 0 || now.refused > 0 || now.breaker === 'half-open'))
    return {
      label: 'Failing at times',
      color: 'yellow',
      says: 'Some attempts failed or were rejected in the last minute.',
      weight: 3,
    }
  if (sourceIds.length === 0)
    return {
      label: 'No source',
      color: 'yellow',
      says: 'It is connected to no source, and gets nothing.',
      weight: 2,
    }
  if (!now) return { label: 'Not known', color: 'gray', says: 'Nothing has been heard of it yet.', weight: 1 }
  if (now.delivered > 0) return { label: 'Healthy', color: 'green', weight: 1 }
  return { label: 'Quiet', color: 'blue', says: 'Nothing was sent to it in the last minute.', weight: 1 }
}

export type HealthRow = { destination: Destination; now: DestinationNow | undefined; state: HealthWord }

/** Those in trouble first. */
export function rowsOf(destinations: readonly Destination[], health: readonly DestinationNow[]): HealthRow[] {
  const byId = new Map(health.map((now) => [now.destinationId, now]))
  return destinations
    .map((destination) => {
      const now = byId.get(destination.id)
      return { destination, now, state: healthOf(destination, now) }
    })
    .sort((one, other) => other.state.weight - one.state.weight)
}
