import type { Ladder } from '../delivery/ladder.ts'
import type { Poster } from '../delivery/post/post.ts'
import { prepare, targetsOf } from '../delivery/targets.ts'
import type { Webhooks } from '../delivery/webhooks.ts'
import { type ConsumerRecord, type Handler, type Hold, holdFor, type Rest } from '../kafka/consume/record.ts'
import type { Producer } from '../kafka/produce/produce.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Settings } from '../settings/follow.ts'
import type { Destination } from '../settings/settings.ts'
import { type Attempted, type AttemptParts, attempt } from './attempt.ts'
import type { LoggedResult } from './attempt-log.ts'
import { type Decision, decide, decideUnsent, deferralsOf } from './decide.ts'
import type { Lane } from './lane/lane.ts'
import { queueHold } from './rungs.ts'
import { Settler, type SettlerParts } from './settle.ts'

export type DelivererParts = SettlerParts & {
  settings: Pick<Settings, 'destination'> & {
    destinations: Pick<Settings['destinations'], 'get'>
    unreadable: Pick<Settings['unreadable'], 'has'>
  }
  webhooks: Pick<Webhooks, 'deferred'>
  /** The lanes' clock. */
  now: () => number
  poster: Pick<Poster, 'post'>
  producer: Pick<Producer, 'queuedBytes'>
  ladder: Ladder
  onAttempt: (delivery: Delivery, result: LoggedResult) => void
  /** The delivery is on hold, as its destination is paused. */
  onHeld: (delivery: Delivery) => void
}

type FoundDestination = Destination | 'unreadable' | undefined

/**
 * A delivery of a lane is settled when it is delivered, or Kafka has its next record. Callbacks are cheaper than
 * promises.
 */
export function createDeliverer(parts: DelivererParts): (lane: Lane) => Handler<Delivery> {
  const settler = new Settler(parts)
  return (lane) => {
    const deliverer = new LaneDeliverer(lane, settler, parts)
    return (record) => deliverer.receive(record)
  }
}

class LaneDeliverer {
  readonly #lane: Lane
  readonly #settler: Settler
  readonly #parts: DelivererParts
  readonly #attemptParts: AttemptParts
  readonly #lookUps: LookUps

  constructor(lane: Lane, settler: Settler, parts: DelivererParts) {
    const { settings, poster, onAttempt } = parts
    this.#lane = lane
    this.#settler = settler
    this.#parts = parts
    this.#attemptParts = { lane, poster, destination: (id) => settings.destinations.get(id), onAttempt }
    this.#lookUps = createLookUps(settings, {
      found: (record, destination) => this.#start(record, destination),
      failed: settler.park,
    })
  }

  /** 1. Leaves the record in Kafka if there is no room. Looks up a destination that is not known here. */
  receive(record: ConsumerRecord<Delivery>): Hold | Rest | undefined {
    const { settings, producer } = this.#parts
    const full = laneHold(this.#lane, producer)
    if (full) return full
    const { destinationId } = record.value
    const known = settings.destinations.get(destinationId)
    if (!known?.enabled && settings.unreadable.has(`destination/${destinationId}`)) {
      this.#start(record, 'unreadable')
      return undefined
    }
    if (!known?.enabled || this.#lookUps.has(destinationId)) {
      if (this.#lookUps.isFull()) return holdFor(LOOK_UP_MS)
      this.#lookUps.add(record)
      return undefined
    }
    const pressure = known.paused ? undefined : destinationPressure(this.#lane, known)
    if (pressure && 'holdUntil' in pressure) return pressure
    this.#start(record, known)
    return pressure
  }

  /** 2. Prepares the delivery with the current settings, and posts it to each unsettled webhook. */
  #start(record: ConsumerRecord<Delivery>, found: FoundDestination): void {
    const { ladder, onHeld } = this.#parts
    const prepared = prepare(record.value, found)
    if (prepared.kind !== 'post') {
      if (prepared.kind === 'paused') onHeld(record.value)
      this.#act(record, decideUnsent(record.value, { prepared, now: Date.now() }, ladder))
      return
    }
    const { targets } = prepared
    const done = (attempted: Attempted) => {
      const facts = { targets, attempted, isOwned: record.owned(), now: Date.now() }
      this.#act(record, decide(record.value, facts, ladder))
    }
    attempt({ record, targets, done }, this.#attemptParts)
  }

  /** 3. Carries out every decision. */
  #act(record: ConsumerRecord<Delivery>, decision: Decision): void {
    const { webhooks, now } = this.#parts
    if (decision.kind === 'park') this.#settler.park(record, decision.reason)
    else if (decision.kind !== 'again') {
      if (decision.deferred && deferralsOf(record.value) === 0) webhooks.deferred(decision.deferred, now())
      this.#settler.settle(record, decision)
    } else if (record.owned()) this.#lookUps.add(record)
    else record.release()
  }
}

const MAX_LOOKING_UP = 1_000
const LOOK_UP_MS = 100

type LookUpEnds = {
  found: (record: ConsumerRecord<Delivery>, destination: FoundDestination) => void
  failed: (record: ConsumerRecord<Delivery>, reason: string) => void
}

type LookUps = ReturnType<typeof createLookUps>

/** For destinations that are not known here. Keeps the order of a destination's records. */
function createLookUps(settings: Pick<Settings, 'destination'>, { found, failed }: LookUpEnds) {
  const pending = new Map<string, Promise<void>>()
  let waiting = 0

  return {
    has: (destinationId: string) => pending.has(destinationId),
    isFull: () => waiting >= MAX_LOOKING_UP,
    add(record: ConsumerRecord<Delivery>): void {
      const id = record.value.destinationId
      const before = pending.get(id) ?? Promise.resolve()
      waiting += 1
      const lookedUp = Promise.all([settings.destination(id), before])
        .then(([destination]) => found(record, destination))
        .catch((error) => failed(record, String(error)))
        .then(() => {
          waiting -= 1
          if (pending.get(id) === lookedUp) pending.delete(id)
        })
      pending.set(id, lookedUp)
    },
  }
}

const HOLD_MS = 100

const laneHold = (lane: Pick<Lane, 'isFull'>, producer: Pick<Producer, 'queuedBytes'>): Hold | undefined =>
  lane.isFull() ? holdFor(HOLD_MS) : queueHold(producer)

/** Deliveries wait in Kafka, in order, when deferring would not be faster for any webhook. */
function destinationPressure(
  lane: Pick<Lane, 'pressure'>,
  destination: Destination,
): Hold | Rest | undefined {
  const pressures = targetsOf(destination).map((target) => lane.pressure(target))
  const restMs = Math.min(...pressures.map((pressure) => pressure?.restMs ?? 0))
  if (restMs === 0) return undefined
  if (pressures.every((pressure) => pressure?.isFull)) return holdFor(restMs)
  return { restUntil: Date.now() + restMs }
}
