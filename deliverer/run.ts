import { isFinal, isRetry, type Ladder, next, type Posted, withoutFinal } from '../delivery/ladder.ts'
import type { Poster } from '../delivery/post.ts'
import { plan, type Target, targetsOf } from '../delivery/targets.ts'
import type { Webhooks } from '../delivery/webhooks.ts'
import type { Handler, Hold, Rest, Taken } from '../kafka/consume/record.ts'
import type { Producer } from '../kafka/produce/produce.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Settings } from '../settings/follow.ts'
import type { Destination } from '../settings/settings.ts'
import { startRound, type Tried } from './attempt-batch.ts'
import { defer, deferRest, withoutAttempt } from './defer.ts'
import type { Lane } from './lane/lane.ts'
import { type SettlerParts, settler } from './settle.ts'

export type DelivererParts = SettlerParts & {
  settings: Pick<Settings, 'destination'> & {
    destinations: Pick<Settings['destinations'], 'get'>
    unreadable: Pick<Settings['unreadable'], 'has'>
  }
  webhooks: Pick<Webhooks, 'deferred'>
  poster: Pick<Poster, 'post'>
  producer: Pick<Producer, 'queuedBytes'>
  ladder: Ladder
  /** Each POST, and each URL that was passed over, goes to the attempt log. */
  onPosted: (delivery: Delivery, posted: Posted) => void
}

/** Deliveries of a lane that wait for the settings of their destination to be read anew. */
const MAX_LOOKING_UP = 1_000
const LOOK_UP_MS = 100
/** What waits for a destination that cannot be read comes back within that, and so soon after it is mended. */
const UNREADABLE_MS = 60_000

/**
 * Hands each delivery of a lane over and returns: looks up, posts, decides, writes what comes next, settles. Settled means
 * delivered, or its next record acknowledged by Kafka (ARCHITECTURE, "Hop by hop"), which of one that is cancelled is the one in `attempts`.
 */
export function deliverer(parts: DelivererParts): (lane: Lane) => Handler<Delivery> {
  const { settings, producer, poster, ladder, onPosted } = parts
  const { settle, putAside } = settler(parts)
  const round = { poster, onPosted, destination: (id: string) => settings.destinations.get(id) }

  return (lane) => {
    const lookingUp = new Map<string, Promise<void>>()
    let waiting = 0

    function take(record: Taken<Delivery>, destination: Destination | 'unreadable' | undefined): void {
      const delivery = record.value
      const planned = plan(delivery, destination)
      if (planned.kind === 'unreadable') putOff(record)
      else if (planned.kind !== 'post' && delivery.delivered) settle(record, { kind: 'done' })
      else if (planned.kind === 'cancelled') settle(record, planned)
      else if (planned.kind === 'refused') settle(record, next(delivery, [], Date.now(), ladder))
      else
        startRound(record, planned.targets, { ...round, lane }, (tried) =>
          conclude(record, planned.targets, tried),
        )
    }

    /** Nobody knows where it is to go: it waits on the rungs as one does whose endpoint is down, and delays no other. */
    function putOff(record: Taken<Delivery>): void {
      const later = defer(record.value, UNREADABLE_MS, Date.now(), ladder)
      // one URL has the event
      settle(record, later.kind === 'dead' && record.value.delivered ? { kind: 'done' } : later)
    }

    function conclude(record: Taken<Delivery>, targets: readonly Target[], tried: Tried): void {
      const { posted, waitMs } = tried
      const delivery = record.value
      if (tried.fault) void putAside(record, String(tried.fault))
      else if (isUndecided(tried) || (isCutOff(tried) && !record.owned())) again(record)
      else if (isDelivered(delivery, posted)) {
        const rest = withoutAttempt(delivery, { targets, posted, dropped: tried.dropped })
        noteDeferred(delivery, rest)
        settle(record, deferRest(delivery, { targets, rest, waitMs, now: Date.now() }, ladder))
      } else if (posted.some(isRetry) || posted.every(isFinal))
        settle(record, next(delivery, posted, Date.now(), ladder))
      else {
        noteDeferred(
          delivery,
          targets.filter((target) => isDeferred(target, posted)),
        )
        settle(record, defer(withoutFinal(delivery, posted), waitMs, Date.now(), ladder))
      }
    }

    function noteDeferred({ deferrals }: Delivery, targets: readonly Target[]): void {
      if (deferrals === 0) parts.webhooks.deferred(targets, performance.now())
    }

    /** By the settings as they are now; or by whoever has its partition next. */
    function again(record: Taken<Delivery>): void {
      if (record.owned()) lookUp(record)
      else record.release()
    }

    /** Asked at once, so that many share one answer; taken in the order in which they came. */
    function lookUp(record: Taken<Delivery>): void {
      const id = record.value.destinationId
      const before = lookingUp.get(id) ?? Promise.resolve()
      waiting += 1
      const looked = Promise.all([settings.destination(id), before])
        .then(([destination]) => take(record, destination))
        .catch((error) => putAside(record, String(error)))
        .then(() => {
          waiting -= 1
          if (lookingUp.get(id) === looked) lookingUp.delete(id)
        })
      lookingUp.set(id, looked)
    }

    return (record) => {
      const full = laneHold(lane, producer)
      if (full) return full
      const { destinationId } = record.value
      const destination = settings.destinations.get(destinationId)
      if (!destination?.enabled && settings.unreadable.has(`destination/${destinationId}`)) {
        putOff(record)
        return undefined
      }
      if (!destination?.enabled || lookingUp.has(destinationId)) {
        if (waiting >= MAX_LOOKING_UP) return hold(LOOK_UP_MS)
        lookUp(record)
        return undefined
      }
      const pressure = destinationPressure(lane, destination)
      if (pressure && 'holdUntil' in pressure) return pressure
      take(record, destination)
      return pressure
    }
  }
}

const isDelivered = ({ delivered }: Delivery, posted: readonly Posted[]) =>
  delivered || posted.some(({ outcome }) => outcome.outcome === 'delivered')

const isDeferred = ({ urlIndex }: Target, posted: readonly Posted[]) =>
  posted.some((one) => one.urlIndex === urlIndex && one.outcome.outcome === 'deferred')

/** By us, at our end: whoever has the delivery next begins the same attempt anew. */
const isCutOff = ({ posted }: Tried) =>
  posted.some(({ outcome }) => outcome.outcome === 'retry' && outcome.code === 'aborted') &&
  !posted.some(({ outcome }) => outcome.outcome === 'delivered')

/** What was not tried might have been delivered: only what is to be tried again anyway is decided without it. */
const isUndecided = ({ untried, posted }: Tried) =>
  untried && !posted.some(({ outcome }) => outcome.outcome === 'delivered' || outcome.outcome === 'retry')

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
