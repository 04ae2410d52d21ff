import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { applyRules } from '../../../delivery/routing/apply-rules.ts'
import { isRuled } from '../../../delivery/routing/compiled-rules.ts'
import { deliveryKey, deliveryOf, UNATTEMPTED, unmatched } from '../../../delivery/routing/routing.ts'
import type { ConsumerRecord, Message } from '../../../kafka/consume/record.ts'
import type { PartitionOffset } from '../../../kafka/topic-partition.ts'
import { eventPlaceIn } from '../../../schemas/dead-record.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Replay } from '../../../schemas/task.ts'
import type { Settings } from '../../../settings/follow.ts'
import { letterOf } from '../../activity/dead/dead-letter.ts'
import { replayIndex, selectedBy } from '../../activity/dead/replayed.ts'
import type { Tasks } from '../task-table.ts'
import type { EventAt } from './event-reader.ts'
import type { Later, Made, Unmade } from './records.ts'
import { isSuppressed, suppressedKeys } from './suppressed.ts'

export type Facts = {
  settings: Pick<Settings, 'destinations' | 'hasUnreadRules' | 'suppressedUsers' | 'suppressions'>
}
type Read<T> = Pick<ConsumerRecord<T>, 'key' | 'value' | 'timestamp' | 'partition' | 'offset'>

/** About 20 MB. */
const MAX_REMEMBERED = 200_000

/**
 * The same delivery, without attempts (docs/guides/replay.md). Skips repeated records. If its rules had failed, runs
 * today's rules on the event.
 */
export function makeOfDelivery(
  replay: Replay,
  { settings, replays, eventAt }: Facts & Pick<Tasks, 'replays'> & { eventAt: EventAt },
) {
  const isSelected = selectedBy(replay)
  const replayOf = replay.skipReplayed ? replayIndex(replays.values(), replay) : undefined
  const firsts = new LRUCache<string, string>({ max: MAX_REMEMBERED })
  const isSuppressedKey = suppressedKeys(replay.destinationId, settings)

  /**
   * A record may be seen again after a pause. Users whose calls share a messageId share a deliveryId, but not the key,
   * which may have 32 KB.
   */
  function isFirst({ key, value: { deliveryId }, partition, offset }: Read<Delivery>): boolean {
    const place = `${partition}/${offset}`
    const id = hash('sha256', `${deliveryId} ${key}`, 'base64')
    const first = firsts.get(id) ?? place
    firsts.set(id, first)
    return first === place
  }

  async function remade(
    dead: Delivery,
    place: PartitionOffset | undefined,
    owned: () => boolean,
  ): Promise<Made | Unmade | undefined> {
    const event = place && (await eventAt(place, owned))
    if (!place || event?.messageId !== dead.messageId || event.sourceId !== dead.sourceId)
      return { unmade: 'its event is no longer stored' }
    return madeOf(event, { replay, place }, { settings })
  }

  return (record: Read<Delivery>, headers?: Message['headers']): Made | Later | undefined => {
    const { key, value: dead } = record
    if (dead.destinationId !== replay.destinationId) return undefined
    const letter = letterOf(dead, { ...record, code: null })
    if (!isSelected(letter) || replayOf?.(letter)) return undefined
    // the key of deliveries is destinationId/userKey
    if (isSuppressedKey(dead, key.slice(dead.destinationId.length + 1))) return undefined
    if (!isFirst(record)) return undefined
    if (dead.deadReason === 'rules_failed')
      return { later: (owned) => remade(dead, eventPlaceIn(headers), owned) }
    return { delivery: { ...dead, ...UNATTEMPTED, routedAt: Date.now(), replay: true }, key }
  }
}

/** As the router would now: nothing if the destination does not get the event. */
export const makeOfEvent =
  (replay: Replay, { settings }: Facts) =>
  ({ value: event, timestamp, partition, offset }: Read<Event>): Made | Unmade | undefined =>
    isWithin(timestamp, replay)
      ? madeOf(event, { replay, place: { partition, offset } }, { settings })
      : undefined

type For = { replay: Pick<Replay, 'destinationId'>; place: PartitionOffset }

function madeOf(
  event: Event,
  { replay: { destinationId: id }, place }: For,
  { settings }: Facts,
): Made | Unmade | undefined {
  const destination = settings.destinations.get(id)
  if (!destination?.sourceIds.includes(event.sourceId)) return undefined
  if (isSuppressed(event, settings) || unmatched(event, destination)) return undefined
  if (settings.hasUnreadRules(id)) return { unmade: 'the rules of the destination cannot be read' }
  const now = Date.now()
  if (!isRuled(destination))
    return { delivery: replayed(deliveryOf(event, id, now)), key: deliveryKey(id, event) }
  const ruled = applyRules(event, destination, now)
  if (!('delivery' in ruled)) return undefined
  const { key, delivery } = ruled
  const failed = ruled.outcome === 'failed' && { failed: { code: ruled.code, event: place } }
  return { delivery: replayed(delivery), key, ...failed }
}

/** The wait for a replay does not count as latency. */
const replayed = (delivery: Delivery): Delivery => ({ ...delivery, replay: true, acceptedAt: null })

/** Times in a topic may descend. */
const isWithin = (timestamp: number, { from, to }: Replay) =>
  timestamp >= Date.parse(from) && timestamp < Date.parse(to)
