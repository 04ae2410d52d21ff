import { getRandomValues } from 'node:crypto'
import type { Hash } from './hash.ts'

/** Hashes with the low 32 bits of an offset each, in flat tables: 12 bytes a slot and no object per id. */
export type Generation = {
  size(): number
  /** No more fit. */
  isFull(): boolean
  bytes(): number
  /** @returns the offset's low 32 bits. */
  find(hash: Hash): number | undefined
  /** Of two offsets of one hash the lower is kept. @returns false when it did not fit. */
  put(hash: Hash, offset: number): boolean
}

export const MAX_IDS = 1_000_000

/** Each grows by itself, so that growing takes neither long nor much memory at once. */
const SEGMENTS = 64
const FIRST_SLOTS = 8
const LOAD = 0.72
/** With a million ids the segments have these slots: 16.7 MB, 33.5 MB for two generations and what one segment's growth takes. */
const MAX_SLOTS = Math.ceil(MAX_IDS / SEGMENTS / LOAD)
/** Of a segment in its last size, which neither chance comes near nor who picks ids. */
const STUFFED = 0.9 * MAX_SLOTS

/** A slot: both halves of the hash, the offset. */
const WORDS = 3

/**
 * Where a hash lies is nobody's to know: who could pick ids for one segment would fill it with a few, and the window would forget those of others
 * early; or have all of them share one slot. Multiply-shift with secret odd factors spreads any set of hashes that is picked without them (Dietzfelbinger
 * et al., 1997). What is stored stays the hash itself, which all routers agree on.
 */
const FACTORS = getRandomValues(new Uint32Array(4)).map((factor) => factor | 1)
const [A = 1, B = 1, C = 1, D = 1] = FACTORS

const segmentIndex = ({ high, low }: Hash) => (Math.imul(A, high) + Math.imul(B, low)) >>> 26 // 6 bits: one of the 64
const slotIndex = ({ high, low }: Hash, slots: number) =>
  Math.floor((((Math.imul(C, high) + Math.imul(D, low)) >>> 0) * slots) / 2 ** 32)

type Segment = { words: Uint32Array; used: number }

/** Starts with nothing and grows to at most `MAX_IDS`. Open addressing, linear probing. */
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

/**
 * Whether an offset lies before another, of both of which only the low 32 bits may be known: they are at most 2^31
 * apart. `undefined` lies behind all.
 */
export function isBefore(one: number | undefined, other: number | undefined): boolean {
  if (one === undefined) return false
  return other === undefined || ((one - other) | 0) < 0
}

const isFree = (words: Uint32Array, at: number) => words[at] === 0 && words[at + 1] === 0

/** @returns the index of the slot that holds the hash, or of the free one where it belongs. */
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
  const slots = Math.min(MAX_SLOTS, Math.max(FIRST_SLOTS, (words.length / WORDS) * 2))
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
