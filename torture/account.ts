import type { OffsetRange } from '../harness/kafka/disk.ts'
import type { Role } from '../settings/config-key.ts'
import { ALARM, type Notice } from './notices.ts'
import type { CutTopic } from './plan.ts'

/** A POST answered with 2xx. `webhook`: its URL or path. */
export type Answered = { webhook: string; destinationId: string; messageId: string; deliveryId: string }

export type Facts = {
  /** Ids of calls answered with 200. */
  accepted: ReadonlySet<string>
  /** Ids in topic `events`. */
  events: ReadonlySet<string>
  /** `destinationId messageId` of each record in topic `deliveries`. */
  routed: ReadonlySet<string>
  answered: readonly Answered[]
  /** The same, of `deliveries.dead` and of attempts recorded as cancelled. */
  dead: ReadonlySet<string>
  cancelled: ReadonlySet<string>
  /** What `attempts` records as delivered. */
  recorded: ReadonlySet<string>
  /**
   * `destinationId messageId` of those that the answer to another delivery's POST settled, because a webhook sent more
   * answers than it got requests (docs/understand/bounds.md).
   */
  mistaken: ReadonlySet<string>
  /** What power cuts removed from Kafka. Rungs and `deliveries.due` are `retries`. */
  cuts?: readonly Cut[]
  /** Losses that topic `log-faults` reports. */
  reported?: readonly OffsetRange[]
  /** Destinations that were enabled all the time: each event goes to them. */
  steady: readonly string[]
  /** In topic `events`. Destination `alarm` gets them. */
  notices?: readonly Pick<Notice, 'messageId'>[]
  /** A destination whose filter selects some events. */
  choosy?: { destinationId: string; wants: (messageId: string) => boolean }
  /** `destinationId messageId` of POSTs that showed what the destination's rules hide. */
  unredacted?: ReadonlySet<string>
}

/**
 * `topic`: without prefix. `keys`: by offset, a `messageId` of `events`, otherwise `destinationId messageId`.
 * `isUnwitnessed`: the loss may go unreported, because the writer was ended soon after the cut, or because other records
 * have these offsets (docs/understand/failures.md).
 */
export type Cut = OffsetRange & {
  kind: CutTopic
  keys?: ReadonlyMap<number, string>
  isUnwitnessed?: boolean
}

export type Account = {
  accepted: number
  events: number
  routed: number
  delivered: number
  dead: number
  cancelled: number
  /** What power cuts removed, and how much of it Sluice reported. */
  cut: Readonly<Record<CutTopic, number>>
  reported: Readonly<Record<CutTopic, number>>
  /** Not reported, of unwitnessed cuts. */
  unwitnessed: Readonly<Record<CutTopic, number>>
  /** Missing calls and deliveries whose records were lost, and reported or unwitnessed. */
  excused: number
  /** Not reported: Kafka had not acknowledged them, and they were written again. */
  rewritten: number
  /** Settled only by the answer to another delivery's POST. */
  mistaken: number
  /** POSTs answered with 2xx beyond the first of their delivery to their webhook. */
  again: number
  /** How often one webhook answered the same delivery with 2xx, at most. */
  most: number
  /** Each list must be empty. */
  missing: {
    accepted: string[]
    unrouted: string[]
    unsettled: string[]
    /** Of `events` and `deliveries`. */
    unreported: string[]
    strangeIds: string[]
    /** Recorded as delivered. */
    unaccepted: string[]
    /** Excluded by the filter of `choosy`. */
    unwanted: string[]
    unredacted: string[]
  }
}

export const pair = ({ destinationId, messageId }: Pick<Answered, 'destinationId' | 'messageId'>) =>
  `${destinationId} ${messageId}`

const destinationOf = (key: string): string => key.split(' ', 1)[0] ?? ''

/**
 * Accepted calls must be in `events`, events routed, and deliveries delivered, dead or cancelled. Repeated POSTs must
 * have the same id.
 */
export function account(facts: Facts): Account {
  const { accepted, events, routed, answered, dead, cancelled, recorded, mistaken, choosy } = facts
  const { idOf, strangeIds } = deliveryIds(answered)
  const isKnown = (key: string) => idOf.has(key) || dead.has(key) || cancelled.has(key)
  const isSettled = (key: string) => isKnown(key) || mistaken.has(key)
  const lost = {
    accepted: [...accepted].filter((id) => !events.has(id)),
    unrouted: expectedDeliveries(facts).filter((key) => !routed.has(key)),
    unsettled: [...routed].filter((key) => !isSettled(key)),
  }
  const missing = {
    accepted: withoutExcused(lost.accepted, 'events', facts),
    unrouted: withoutExcused(lost.unrouted, 'deliveries', facts),
    unsettled: withoutExcused(lost.unsettled, 'retries', facts),
  }
  const { unreported, ...losses } = lossesOf(facts)
  const ofWebhook = [...Map.groupBy(answered, (each) => `${each.webhook} ${pair(each)}`).values()]
  return {
    accepted: accepted.size,
    events: events.size,
    routed: routed.size,
    delivered: idOf.size,
    dead: [...dead].filter((key) => !idOf.has(key)).length,
    cancelled: [...cancelled].filter((key) => !idOf.has(key) && !dead.has(key)).length,
    mistaken: [...mistaken].filter((key) => !isKnown(key)).length,
    again: answered.length - ofWebhook.length,
    // not `Math.max(...)`: so many arguments would overflow the stack
    most: ofWebhook.reduce((most, { length }) => Math.max(most, length), 0),
    ...losses,
    excused: Object.values(lost).flat().length - Object.values(missing).flat().length,
    missing: {
      ...missing,
      unreported,
      strangeIds,
      unaccepted: [...recorded].filter((key) => !idOf.has(key) && !mistaken.has(key)),
      unwanted: [...routed].filter((key) => isUnwanted(key, choosy)),
      unredacted: [...(facts.unredacted ?? [])],
    },
  }
}

/** @returns the first `deliveryId` of each delivery, and the deliveries that have several. */
function deliveryIds(answered: readonly Answered[]): { idOf: Map<string, string>; strangeIds: string[] } {
  const idOf = new Map<string, string>()
  const strange = new Set<string>()
  for (const each of answered) {
    const known = idOf.get(pair(each))
    if (known === undefined) idOf.set(pair(each), each.deliveryId)
    else if (known !== each.deliveryId) strange.add(pair(each))
  }
  return { idOf, strangeIds: [...strange] }
}

const noticeIds = ({ notices = [] }: Facts) => new Set(notices.map(({ messageId }) => messageId))

function expectedDeliveries(facts: Facts): string[] {
  const { events, steady, choosy } = facts
  const destinationsOf = (messageId: string) =>
    choosy?.wants(messageId) ? [...steady, choosy.destinationId] : steady
  return [
    ...[...events].flatMap((messageId) =>
      destinationsOf(messageId).map((destinationId) => pair({ destinationId, messageId })),
    ),
    ...[...noticeIds(facts)].map((messageId) => pair({ destinationId: ALARM, messageId })),
  ]
}

function isUnwanted(key: string, choosy: Facts['choosy']): boolean {
  const [, messageId = ''] = key.split(' ')
  return destinationOf(key) === choosy?.destinationId && !choosy?.wants(messageId)
}

/** What power cuts removed, and whether it was reported or written again. */
function lossesOf(facts: Facts) {
  const { cuts = [], reported = [], events, routed } = facts
  const notices = noticeIds(facts)
  const isThere = (key: string) => events.has(key) || notices.has(key) || routed.has(key)
  const unreportedOf = (each: Cut) => unreportedKeys(each, reported)
  const unwitnessed = cuts.filter(({ isUnwitnessed }) => isUnwitnessed)
  const witnessed = cuts.filter(({ isUnwitnessed, kind }) => !isUnwitnessed && kind !== 'retries')
  const unexplained = witnessed.flatMap(unreportedOf)
  return {
    cut: sumOf(cuts, ({ from, to }) => to - from),
    reported: sumOf(cuts, (each) => covered(each, reported).size),
    unwitnessed: sumOf(unwitnessed, (each) => unreportedOf(each).length),
    rewritten: unexplained.filter(isThere).length,
    unreported: unexplained.filter((key) => !isThere(key)),
  }
}

/** Leaves out the keys of lost records that are reported or unwitnessed. */
function withoutExcused(keys: string[], kind: CutTopic, { cuts = [], reported = [] }: Facts): string[] {
  const excused = new Set<string>()
  let withoutKey = 0
  for (const each of cuts) {
    if (each.kind !== kind) continue
    const known = covered(each, reported)
    for (let at = each.from; at < each.to; at++) {
      if (!each.isUnwitnessed && !known.has(at)) continue
      const key = each.keys?.get(at)
      if (key === undefined) withoutKey += 1
      else excused.add(key)
    }
  }
  return beyond(
    withoutKey,
    keys.filter((key) => !excused.has(key)),
  )
}

const WRITERS = { events: 'ingest', deliveries: 'router', retries: 'deliverer' } as const
/** How long Kafka has to be up until the writer has noticed and reported a loss. */
const NOTICED_MS = 15_000

/** `at`: when Kafka and the writer were last back after the cut, in ms. */
export type TimedCut = Cut & { at: number }

const isRecent = ({ at }: TimedCut, now: number): boolean => now - at < NOTICED_MS

/**
 * The time to notice a loss begins again after an outage: no process notices one while Kafka is away, and a frozen writer
 * notices nothing.
 * @param role of the frozen process; undefined if Kafka was away.
 */
export const afterOutage = (
  cuts: readonly TimedCut[],
  { began, ended, role }: { began: number; ended: number; role?: Role | undefined },
): TimedCut[] =>
  cuts.map((cut) =>
    isRecent(cut, began) && (role === undefined || WRITERS[cut.kind] === role) ? { ...cut, at: ended } : cut,
  )

/** Marks recent cuts whose writer ends now. A reader may know of them all the same. */
export const afterEndOf = (role: Role, cuts: readonly TimedCut[], now: number): TimedCut[] =>
  cuts.map((cut) =>
    WRITERS[cut.kind] === role && isRecent(cut, now) ? { ...cut, isUnwitnessed: true } : cut,
  )

function sumOf(cuts: readonly Cut[], count: (cut: Cut) => number): Record<CutTopic, number> {
  const sums = { events: 0, deliveries: 0, retries: 0 }
  for (const each of cuts) sums[each.kind] += count(each)
  return sums
}

function covered({ topic, partition, from, to }: Cut, reported: readonly OffsetRange[]): Set<number> {
  const offsets = new Set<number>()
  for (const range of reported)
    if (range.topic === topic && range.partition === partition)
      for (let at = Math.max(from, range.from); at < Math.min(to, range.to); at++) offsets.add(at)
  return offsets
}

export const isReported = (cut: Cut, offset: number, reported: readonly OffsetRange[]): boolean =>
  covered(cut, reported).has(offset)

function unreportedKeys(cut: Cut, reported: readonly OffsetRange[]): string[] {
  const { keys, topic, partition, from, to } = cut
  const known = covered(cut, reported)
  const offsets = Array.from({ length: to - from }, (_, index) => from + index)
  return offsets.flatMap((at) => (known.has(at) ? [] : [keys?.get(at) ?? `${topic}-${partition}@${at}`]))
}

/** Leaves out as many keys as have an explanation: which ones is not known. */
const beyond = (explained: number, keys: string[]): string[] => keys.slice(explained)

export const holds = ({ missing }: Account): boolean =>
  Object.values(missing).every((keys) => keys.length === 0)
