import { LRUCache } from 'lru-cache'
import type { Taken } from '../../kafka/taken.ts'
import { unmatched } from '../../router/match.ts'
import { deliveryKey, deliveryOf, UNTRIED } from '../../router/route.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import type { Settings } from '../../schemas/follow.ts'
import type { Replay } from '../../schemas/task.ts'
import { DEAD, EVENTS } from '../../schemas/topics.ts'
import type { Made } from './handler.ts'

type Facts = { settings: Pick<Settings, 'destinations' | 'suppressedUsers'> }
type Read<T> = Pick<Taken<T>, 'key' | 'value' | 'timestamp' | 'partition' | 'offset'>

export const topicOf = ({ what }: Pick<Replay, 'what'>) => (what === 'dead' ? DEAD : EVENTS)

/** Some 20 MB. */
const MOST_REMEMBERED = 200_000

/**
 * The same delivery, untried (docs/replay.md); none when it is another destination's, or died of
 * something else. What was given up more than once, replayed in between, is made once.
 */
export function makeOfDead(replay: Replay, { settings }: Facts) {
  const isChosen = chosenBy(replay)
  const firsts = new LRUCache<string, string>({ max: MOST_REMEMBERED })

  /** A record is asked about again when it had to wait. */
  function isFirst({ value: { deliveryId }, partition, offset }: Read<Delivery>): boolean {
    const place = `${partition}/${offset}`
    const first = firsts.get(deliveryId) ?? place
    firsts.set(deliveryId, first)
    return first === place
  }

  return (record: Read<Delivery>): Made | undefined => {
    const { key, value: dead } = record
    if (dead.destinationId !== replay.destinationId || !isChosen(record)) return undefined
    // the key of deliveries is destinationId/userKey
    if (isHidden({ ...dead, userId: key.slice(dead.destinationId.length + 1) }, settings)) return undefined
    if (!isFirst(record)) return undefined
    return { delivery: { ...dead, ...UNTRIED, routedAt: Date.now(), replay: true }, key }
  }
}

/** One by one, or by time and reason. */
function chosenBy(replay: Replay): (record: Read<Delivery>) => boolean {
  const { places, reason } = replay
  if (!places)
    return ({ value, timestamp }) =>
      isWithin(timestamp, replay) && (reason === undefined || value.deadReason === reason)
  const chosen = new Set(places.map(({ partition, offset }) => `${partition}/${offset}`))
  return ({ partition, offset }) => chosen.has(`${partition}/${offset}`)
}

/** As the router would make it for the destination as it is now; none when the destination does not get the event. */
export const makeOfEvent =
  (replay: Replay, { settings }: Facts) =>
  ({ value: event, timestamp }: Read<Event>): Made | undefined => {
    const destination = settings.destinations.get(replay.destinationId)
    if (!destination?.sourceIds.includes(event.sourceId) || !isWithin(timestamp, replay)) return undefined
    if (isHidden(event, settings)) return undefined
    if (unmatched(event, destination)) return undefined
    const delivery = deliveryOf(event, destination.id, Date.now())
    return { delivery: { ...delivery, replay: true }, key: deliveryKey(destination.id, event) }
  }

/** Times of a topic's records need not ascend: the offsets of a time say only where it begins. */
const isWithin = (timestamp: number, { from, to }: Replay) =>
  timestamp >= Date.parse(from) && timestamp < Date.parse(to)

/** Of who has been suppressed since nothing is told, but that the user is to be deleted. */
const isHidden = (
  { type, sourceId, userId }: { type: string; sourceId: string; userId: string | null },
  settings: Facts['settings'],
) => type !== 'delete' && (settings.suppressedUsers(sourceId)?.has(userId ?? '') ?? false)
