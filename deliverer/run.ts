import type { Handler, Hold, Rest, Taken } from '../kafka/consume.ts'
import type { Producer } from '../kafka/produce.ts'
import type { Logger } from '../log.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Settings } from '../schemas/follow.ts'
import type { Destination } from '../schemas/settings.ts'
import { defer } from './defer.ts'
import type { Endpoints } from './endpoint/endpoints.ts'
import { type Ladder, next, type Posted } from './ladder.ts'
import type { Lane } from './lane/lane.ts'
import { plan, type Target, targetsOf } from './plan.ts'
import type { Poster } from './post/post.ts'
import { startRound, type Tried } from './round.ts'
import { type Result, settler } from './settle.ts'

export type DelivererParts = {
  settings: Pick<Settings, 'destination'> & { destinations: Pick<Settings['destinations'], 'get'> }
  endpoints: Pick<Endpoints, 'deferred' | 'returned'>
  poster: Pick<Poster, 'post'>
  producer: Pick<Producer, 'produce' | 'queuedBytes'>
  deliveries: Pick<Codec<Delivery>, 'encode'>
  ladder: Ladder
  log: Logger
  /** Each POST, and each URL that was passed over, goes to the attempt log. */
  onPosted: (delivery: Delivery, posted: Posted) => void
  onCancelled: (delivery: Delivery, code: string) => void
  onSettled: (result: Result, delivery: Delivery) => void
}

const MAX_QUEUED_BYTES = 32 * 1024 * 1024
/** Deliveries that wait for the settings of their destination to be read anew. */
const MAX_LOOKING_UP = 1_000
const HOLD_MS = 25

/**
 * Hands each delivery of a lane over and returns: looks up, posts, decides, writes what comes next, settles. Settled means
 * delivered, cancelled, or its next record acknowledged by Kafka (design: delivery, "Commit rule"); the attempt log decides nothing.
 */
export function deliverer(parts: DelivererParts): (lane: Lane) => Handler<Delivery> {
  const { settings, producer, poster, ladder, onPosted } = parts
  const { settle, putAside } = settler(parts)
  const lookingUp = new Map<string, Promise<void>>()
  let waiting = 0
  const round = { poster, onPosted, destination: (id: string) => settings.destinations.get(id) }

  function decide(delivery: Delivery, { posted, waitMs }: Tried): Result {
    const now = Date.now()
    const none = posted.every(({ outcome }) => outcome.outcome === 'deferred')
    return none ? defer(delivery, waitMs, now, ladder) : next(delivery, posted, now, ladder)
  }

  function take(record: Taken<Delivery>, destination: Destination | undefined, lane: Lane): void {
    const delivery = record.value
    const planned = plan(delivery, destination)
    if (planned.kind === 'cancelled') {
      parts.onCancelled(delivery, planned.code)
      settle(record, planned)
    } else if (planned.kind === 'refused') settle(record, next(delivery, [], Date.now(), ladder))
    else post(record, planned.targets, lane)
  }

  function post(record: Taken<Delivery>, targets: readonly Target[], lane: Lane): void {
    if (record.value.deferrals > 0) parts.endpoints.returned(originsOf(targets), performance.now())
    startRound(record, targets, { ...round, lane }, (tried) => {
      if (tried.fault) void putAside(record, String(tried.fault))
      else if (tried.posted.length > 0) conclude(record, targets, tried)
      else if (record.owned()) lookUp(record, lane)
      else record.release()
    })
  }

  function conclude(record: Taken<Delivery>, targets: readonly Target[], tried: Tried): void {
    const result = decide(record.value, tried)
    if (result.kind === 'defer') parts.endpoints.deferred(originsOf(targets), performance.now())
    settle(record, result)
  }

  /** One destination's deliveries stay in their order, also when its settings have to be waited for. */
  function lookUp(record: Taken<Delivery>, lane: Lane): void {
    const id = record.value.destinationId
    const before = lookingUp.get(id) ?? Promise.resolve()
    waiting += 1
    const looked = before
      .then(() => settings.destination(id))
      .then((destination) => take(record, destination, lane))
      .catch((error) => putAside(record, String(error)))
      .then(() => {
        waiting -= 1
        if (lookingUp.get(id) === looked) lookingUp.delete(id)
      })
    lookingUp.set(id, looked)
  }

  /** What would be put off no faster than it is posted waits in Kafka, in its order. */
  function takeOrWait(
    record: Taken<Delivery>,
    destination: Destination,
    lane: Lane,
  ): Hold | Rest | undefined {
    const pressures = targetsOf(destination).map(({ origin }) => lane.pressure(origin))
    const restMs = Math.min(...pressures.map((pressure) => pressure?.restMs ?? 0))
    if (restMs > 0 && pressures.every((pressure) => pressure?.isFull)) return hold(restMs)
    take(record, destination, lane)
    return restMs > 0 ? { restUntil: Date.now() + restMs } : undefined
  }

  return (lane) => (record) => {
    if (lane.isFull() || waiting >= MAX_LOOKING_UP || producer.queuedBytes() > MAX_QUEUED_BYTES)
      return hold(HOLD_MS)
    const { destinationId } = record.value
    const destination = settings.destinations.get(destinationId)
    if (!destination?.enabled || lookingUp.has(destinationId)) lookUp(record, lane)
    else return takeOrWait(record, destination, lane)
    return undefined
  }
}

const originsOf = (targets: readonly Target[]) => new Set(targets.map(({ origin }) => origin))

const hold = (ms: number): Hold => ({ holdUntil: Date.now() + ms })
