import type { OffsetRange } from '../harness/kafka/disk.ts'
import type { CutTopic } from './plan.ts'

/** One POST that an endpoint has answered below 500. */
export type Answered = { destinationId: string; messageId: string; deliveryId: string }

export type Facts = {
  /** Ids of calls that were answered with success. */
  accepted: ReadonlySet<string>
  /** Ids in topic `events`. */
  events: ReadonlySet<string>
  /** `destinationId messageId` of each record in topic `deliveries`. */
  routed: ReadonlySet<string>
  answered: readonly Answered[]
  /** The same of `deliveries.dead`, and of what `attempts` calls cancelled. */
  dead: ReadonlySet<string>
  cancelled: ReadonlySet<string>
  /** Ids of the deliveries that `attempts` records as delivered, with their pair. */
  recorded: ReadonlyMap<string, string>
  /** Ids of the deliveries whose requests reached an endpoint in full, if that is known. */
  seen?: ReadonlySet<string>
  /** What power cuts have taken from Kafka; those of all rungs, and of what is due, as `retries`. */
  cuts?: readonly Cut[]
  /** What topic `log-faults` says that Kafka has lost. */
  told?: readonly OffsetRange[]
  /** Destinations that were there, and on, all the time: each event goes to them. */
  steady: readonly string[]
}

/** What a power cut has taken of a partition. `topic`: without prefix. */
export type Cut = OffsetRange & { kind: CutTopic }

export type Account = {
  accepted: number
  events: number
  routed: number
  delivered: number
  dead: number
  cancelled: number
  /** Records that power cuts took from Kafka, and how many of these Sluice has told of. */
  cut: Readonly<Record<CutTopic, number>>
  told: Readonly<Record<CutTopic, number>>
  /** POSTs that were answered below 500 beyond the first of their delivery. */
  again: number
  /** What must be empty. */
  missing: {
    accepted: string[]
    unrouted: string[]
    unsettled: string[]
    strangeIds: string[]
    unseen: string[]
  }
}

export const pair = ({ destinationId, messageId }: Pick<Answered, 'destinationId' | 'messageId'>) =>
  `${destinationId} ${messageId}`

/** Accepted is in `events`, an event is routed, what is routed is delivered, dead or cancelled, and what comes again has the same id. */
export function account(facts: Facts): Account {
  const { accepted, events, routed, answered, dead, cancelled, recorded, seen, steady } = facts
  const { cuts = [] } = facts
  const cut = sumOf(cuts, ({ from, to }) => to - from)
  const told = sumOf(cuts, (each) => covered(each, facts.told ?? []))
  const idOf = new Map<string, string>()
  const strange = new Set<string>()
  for (const each of answered) {
    const known = idOf.get(pair(each))
    if (known === undefined) idOf.set(pair(each), each.deliveryId)
    else if (known !== each.deliveryId) strange.add(pair(each))
  }
  const isSettled = (key: string) => idOf.has(key) || dead.has(key) || cancelled.has(key)
  const wanted = [...events].flatMap((messageId) =>
    steady.map((destinationId) => pair({ destinationId, messageId })),
  )
  return {
    accepted: accepted.size,
    events: events.size,
    routed: routed.size,
    delivered: idOf.size,
    dead: [...dead].filter((key) => !idOf.has(key)).length,
    cancelled: [...cancelled].filter((key) => !idOf.has(key) && !dead.has(key)).length,
    again: answered.length - idOf.size,
    cut,
    told,
    missing: {
      accepted: beyond(
        told.events,
        [...accepted].filter((id) => !events.has(id)),
      ),
      unrouted: beyond(
        told.deliveries,
        wanted.filter((key) => !routed.has(key)),
      ),
      unsettled: beyond(
        told.retries,
        [...routed].filter((key) => !isSettled(key)),
      ),
      strangeIds: [...strange],
      unseen: [...recorded].flatMap(([id, key]) => (!seen || seen.has(id) ? [] : key)),
    },
  }
}

function sumOf(cuts: readonly Cut[], count: (cut: Cut) => number): Record<CutTopic, number> {
  const sums = { events: 0, deliveries: 0, retries: 0 }
  for (const each of cuts) sums[each.kind] += count(each)
  return sums
}

/** @returns how many offsets of a cut are among what is told of; each once, however many have told of it. */
function covered({ topic, partition, from, to }: Cut, told: readonly OffsetRange[]): number {
  const ranges = told
    .filter((each) => each.topic === topic && each.partition === partition)
    .toSorted((one, other) => one.from - other.from)
  let sum = 0
  let at = from
  for (const range of ranges) {
    const end = Math.min(to, range.to)
    sum += Math.max(0, end - Math.max(at, range.from))
    at = Math.max(at, end)
  }
  return sum
}

/** What is told of by number only is taken off: any of them may be it. */
const beyond = (told: number, keys: string[]): string[] => keys.slice(told)

export const holds = ({ missing }: Account): boolean =>
  Object.values(missing).every((keys) => keys.length === 0)
