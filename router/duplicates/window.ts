import { getRandomValues, hash } from 'node:crypto'
import type { Event } from '../../schemas/event.ts'

/** `offset`: in `events`. `time`: of the record, in ms, never in the future. */
export type Entry = Hash & { offset: number; time: number }

/** The recent ids of one partition (docs/understand/guarantees.md, "Duplicates"). */
export type Window = {
  /**
   * @returns false if the id is known from a lower offset. An event routed again after a crash has the same offset, so
   * it passes.
   */
  admit(entry: Entry): boolean
  /** Adds what an earlier owner routed, at any time. */
  recall(entry: Entry): void
  room(): number
  size(): number
  bytes(): number
}

type Dated = Generation & { since: number }
const dated = (since: number): Dated => ({ ...createGeneration(), since })

/**
 * One generation fills, the other is only read. They rotate when the first is full or `windowMs` old, so an id is known
 * for `windowMs` or `maxIds` further ids, and at most twice that.
 */
export function createWindow({ windowMs, maxIds = MAX_IDS }: { windowMs: number; maxIds?: number }): Window {
  let current: Dated | undefined
  const recalled = dated(Number.POSITIVE_INFINITY)
  let previous = recalled
  /** The highest time of a record: slow clocks rotate nothing. */
  let now = Number.NEGATIVE_INFINITY

  function rotated(): Dated {
    if (current && (current.isFull() || current.size() >= maxIds || now > current.since + windowMs)) {
      previous = current
      current = undefined
    }
    if (now > previous.since + 2 * windowMs) previous = dated(Number.POSITIVE_INFINITY)
    current ??= dated(now)
    return current
  }

  return {
    admit(entry) {
      now = Math.max(now, entry.time)
      const into = rotated()
      const { offset } = entry
      if (isBefore(into.find(entry), offset) || isBefore(previous.find(entry), offset)) return false
      into.put(entry, offset)
      return true
    },
    recall(entry) {
      if (previous !== recalled || recalled.size() >= maxIds) return
      recalled.since = Math.min(recalled.since, entry.time)
      recalled.put(entry, entry.offset)
    },
    room: () => (previous === recalled && !recalled.isFull() ? Math.max(0, maxIds - recalled.size()) : 0),
    size: () => (current?.size() ?? 0) + previous.size(),
    bytes: () => (current?.bytes() ?? 0) + previous.bytes(),
  }
}

/** Hashes with the low 32 bits of an offset, in flat tables: 12 bytes a slot, no object per id. */
export type Generation = {
  size(): number
  isFull(): boolean
  bytes(): number
  find(hash: Hash): number | undefined
  /** Keeps the lower offset of a hash. @returns false when it did not fit. */
  put(hash: Hash, offset: number): boolean
}

export const MAX_IDS = 1_000_000

/** Segments grow separately, each in little time and memory. */
const SEGMENTS = 64
const FIRST_SLOTS = 10
const LOAD = 0.72
/** With 2, an id would take up to 33 bytes instead of 22, because all segments grow at nearly the same time. */
const GROWTH = 1.3
/** At a million ids: 33.5 MB for two generations, plus one segment's growth. */
const MAX_SLOTS = Math.ceil(MAX_IDS / SEGMENTS / LOAD)
/** Neither chance nor chosen ids come near this load. */
const STUFFED = 0.9 * MAX_SLOTS

/** Both halves of the hash, and the offset. */
const WORDS = 3

/**
 * The slot of a hash is secret: otherwise chosen ids could fill one segment or share a slot. Multiply-shift with secret
 * odd factors spreads any set chosen without them (Dietzfelbinger et al., 1997). The stored hash is the same in all
 * routers.
 */
const FACTORS = getRandomValues(new Uint32Array(4)).map((factor) => factor | 1)
const [A = 1, B = 1, C = 1, D = 1] = FACTORS

const segmentIndex = ({ high, low }: Hash) => (Math.imul(A, high) + Math.imul(B, low)) >>> 26 // 6 bits: one of the 64
const slotIndex = ({ high, low }: Hash, slots: number) =>
  Math.floor((((Math.imul(C, high) + Math.imul(D, low)) >>> 0) * slots) / 2 ** 32)

type Segment = { words: Uint32Array; used: number }

/** Open addressing, linear probing. */
export function createGeneration(): Generation {
  const segments = Array.from({ length: SEGMENTS }, (): Segment => ({ words: new Uint32Array(0), used: 0 }))
  let size = 0
  let isStuffed = false

  const segmentOf = (hash: Hash) => segments[segmentIndex(hash)] as Segment
  const isFull = () => isStuffed || size >= MAX_IDS

  return {
    size: () => size,
    isFull,
    bytes: () => segments.reduce((sum, { words }) => sum + words.byteLength, 0),
    find(hash) {
      const { words, used } = segmentOf(hash)
      if (used === 0) return undefined
      const at = slotFor(words, hash)
      return isFree(words, at) ? undefined : words[at + 2]
    },
    put(hash, offset) {
      const segment = segmentOf(hash)
      if (segment.used >= LOAD * (segment.words.length / WORDS)) grow(segment)
      const { words } = segment
      const at = slotFor(words, hash)
      if (!isFree(words, at)) {
        if (isBefore(offset, words[at + 2])) words[at + 2] = offset
        return true
      }
      if (isFull()) return false
      words[at] = hash.high
      words[at + 1] = hash.low
      words[at + 2] = offset
      segment.used += 1
      size += 1
      isStuffed ||= segment.used >= STUFFED
      return true
    },
  }
}

/** By their low 32 bits, as offsets are at most 2^31 apart. `undefined` comes last. */
export function isBefore(one: number | undefined, other: number | undefined): boolean {
  if (one === undefined) return false
  return other === undefined || ((one - other) | 0) < 0
}

const isFree = (words: Uint32Array, at: number) => words[at] === 0 && words[at + 1] === 0

/** @returns the index of the hash's slot, or of the free one for it. */
function slotFor(words: Uint32Array, hash: Hash): number {
  const { high, low } = hash
  let at = slotIndex(hash, words.length / WORDS) * WORDS
  while (!isFree(words, at) && (words[at] !== high || words[at + 1] !== low)) {
    at += WORDS
    if (at === words.length) at = 0
  }
  return at
}

function grow(segment: Segment): void {
  const { words } = segment
  const slots = Math.min(MAX_SLOTS, Math.max(FIRST_SLOTS, Math.ceil((words.length / WORDS) * GROWTH)))
  if (slots * WORDS === words.length) return
  const grown = new Uint32Array(slots * WORDS)
  for (let at = 0; at < words.length; at += WORDS) {
    if (isFree(words, at)) continue
    const [high = 0, low = 0, offset = 0] = [words[at], words[at + 1], words[at + 2]]
    const to = slotFor(grown, { high, low })
    grown[to] = high
    grown[to + 1] = low
    grown[to + 2] = offset
  }
  segment.words = grown
}

/** Two unsigned halves. Never both 0, which marks a free slot. */
export type Hash = { high: number; low: number }

/**
 * The first 64 bits of SHA-256: an attacker cannot find an id that makes another source's event a duplicate. Unseeded,
 * as all routers must agree. With the user, so users cannot hide each other's events. As JSON, because ids may contain
 * any character.
 */
export function hashOf({
  sourceId,
  userId,
  anonymousId,
  messageId,
}: Pick<Event, 'sourceId' | 'userId' | 'anonymousId' | 'messageId'>): Hash {
  // hex costs half as much as a buffer
  const digest = hash('sha256', JSON.stringify([sourceId, userId ?? [anonymousId], messageId]), 'hex')
  const high = Number.parseInt(digest.slice(0, 8), 16)
  const low = Number.parseInt(digest.slice(8, 16), 16)
  return { high, low: high === 0 && low === 0 ? 1 : low }
}
