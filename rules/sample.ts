import { hash } from 'node:crypto'
import type { Event } from '../schemas/event.ts'
import type { Rules } from './rules.ts'

type Sample = NonNullable<Rules['sample']>

/**
 * Depends only on the user or the message id: retries, replays and other destinations decide the same. A user in a
 * small sample is in every larger one.
 */
export function compileSample({ rate, by }: Sample): (event: Event) => boolean {
  if (rate >= 1) return () => true
  const limit = rate * 2 ** 32
  return (event) => positionOf(by === 'event' ? event.messageId : userOf(event)) < limit
}

/** Calls have a user or an anonymous id. */
const userOf = ({ userId, anonymousId, messageId }: Event) => userId ?? anonymousId ?? messageId

/** The first 32 bits of the SHA-256. */
const positionOf = (text: string) => Number.parseInt(hash('sha256', text, 'hex').slice(0, 8), 16)
