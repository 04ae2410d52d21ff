import { hash } from 'node:crypto'
import type { Event } from '../../schemas/event.ts'

/** 64 bits that stand for an id, as two unsigned halves; never both 0, which marks a free slot. */
export type Hash = { high: number; low: number }

/**
 * The first 64 bits of SHA-256: whoever knows another source's ids must not find an id of his own with the same hash, as
 * the other's event would then be taken for a duplicate. No seed, so all routers agree on what they have written.
 * The user is part of it: of two users who happen to share a partition one must not hide the other's events. As JSON, since
 * ids may hold any character, and what is no string is no userId.
 */
export function hashOf({
  sourceId,
  userId,
  anonymousId,
  messageId,
}: Pick<Event, 'sourceId' | 'userId' | 'anonymousId' | 'messageId'>): Hash {
  // hex: the cheapest form that node:crypto gives, half of a buffer's price
  const digest = hash('sha256', JSON.stringify([sourceId, userId ?? [anonymousId], messageId]), 'hex')
  const high = Number.parseInt(digest.slice(0, 8), 16)
  const low = Number.parseInt(digest.slice(8, 16), 16)
  return { high, low: high === 0 && low === 0 ? 1 : low }
}
