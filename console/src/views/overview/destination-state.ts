import type { Activity } from '../../api/activity.ts'
import type { Destination } from '../../api/destinations.ts'
import type { DestinationNow } from '../../api/health.ts'
import { formatInteger } from '../../wording/format.ts'
import { type Label, stoppedLabel, WEBHOOK_STATES, withStatus } from '../../wording/states.ts'

/** `weight`: higher rows come first. */
export type DestinationState = Label & { weight: number }

/** @param now undefined while loading. */
export function destinationState(
  destination: Pick<Destination, 'enabled' | 'paused' | 'sourceIds'>,
  now: DestinationNow | undefined,
): DestinationState {
  const stopped = stoppedLabel(destination)
  // paused ones come before those that are off: someone may have forgotten to resume them
  if (stopped) return { ...stopped, weight: destination.enabled ? 2 : 0 }
  if (now?.state === 'failing') return { ...WEBHOOK_STATES.failing, weight: 5 }
  if (now?.state === 'rejecting')
    return { ...withStatus(WEBHOOK_STATES.rejecting, now.rejectedStatus), weight: 4 }
  const trouble = now && recentTrouble(now)
  if (now && trouble) {
    const { what, ...rest } = trouble
    // color alone does not show trouble
    return { label: `${WEBHOOK_STATES[now.state].label}, ${what}`, color: 'yellow', ...rest }
  }
  if (destination.sourceIds.length === 0)
    return {
      ...WEBHOOK_STATES.idle,
      color: 'yellow',
      explanation: 'No source is connected, so nothing is sent.',
      weight: 2,
    }
  if (!now) return { label: 'Unknown', color: 'gray', explanation: 'No data yet.', weight: 1 }
  return { ...WEBHOOK_STATES[now.state], weight: 1 }
}

/** Failures of the last minute that make the state neither failing nor rejecting. */
function recentTrouble({ dead, retry, rejected, refused }: DestinationNow) {
  if (dead > 0)
    return {
      what: `${formatInteger(dead)} dead`,
      explanation: 'Deliveries became dead letters in the last minute.',
      weight: 4,
    }
  const failed = retry + rejected + refused
  if (failed > 0)
    return {
      what: `${formatInteger(failed)} failed`,
      explanation: 'Some attempts failed or were rejected in the last minute.',
      weight: 3,
    }
  return undefined
}

type ActivityItem = Activity['destinations'][number]

export type HealthRow = {
  destination: Destination
  activity: ActivityItem | undefined
  state: DestinationState
}

/** Destinations in trouble come first. */
export function healthRows(
  destinations: readonly Destination[],
  { health, activity }: { health: readonly DestinationNow[]; activity: readonly ActivityItem[] },
): HealthRow[] {
  const nowOf = new Map(health.map((now) => [now.destinationId, now]))
  const activityOf = new Map(activity.map((item) => [item.destinationId, item]))
  return destinations
    .map((destination) => ({
      destination,
      activity: activityOf.get(destination.id),
      state: destinationState(destination, nowOf.get(destination.id)),
    }))
    .sort((one, other) => other.state.weight - one.state.weight)
}
