import type { Producer } from '../kafka/produce.ts'
import type { Hold, Rest } from '../kafka/taken.ts'
import type { Destination } from '../schemas/settings.ts'
import type { Lane } from './lane/lane.ts'
import { targetsOf } from './plan.ts'

/** Of what is on its way to rungs; the attempt log gives way before that. */
const MAX_QUEUED_BYTES = 32 * 1024 * 1024
const HOLD_MS = 100

/** Whether a lane takes what comes, whatever it is for. */
export function laneHold(
  lane: Pick<Lane, 'isFull'>,
  producer: Pick<Producer, 'queuedBytes'>,
): Hold | undefined {
  return lane.isFull() || producer.queuedBytes() > MAX_QUEUED_BYTES ? hold(HOLD_MS) : undefined
}

/** What would be put off no faster than it is posted waits in Kafka, in its order: for all URLs of a destination. */
export function destinationPressure(
  lane: Pick<Lane, 'pressure'>,
  destination: Destination,
): Hold | Rest | undefined {
  const pressures = targetsOf(destination).map((target) => lane.pressure(target))
  const restMs = Math.min(...pressures.map((pressure) => pressure?.restMs ?? 0))
  if (restMs === 0) return undefined
  if (pressures.every((pressure) => pressure?.isFull)) return hold(restMs)
  return { restUntil: Date.now() + restMs }
}

export const hold = (ms: number): Hold => ({ holdUntil: Date.now() + ms })
