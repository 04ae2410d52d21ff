import type { Attempt } from '../../schemas/attempt.ts'
import { createNewest, type Newest } from '../newest/newest.ts'
import type { HeldAttempt } from './query.ts'

/** The attempts of late, in their order and by the call that they are of. */
export type Held = {
  newest: Newest<HeldAttempt>
  /** All that are held of a call, in any order. Another source may have sent the same messageId. */
  ofMessage(messageId: string): Iterable<Attempt>
}

export function createHeld({ most, mostBytes }: { most: number; mostBytes: number }): Held {
  const byMessage = new Map<string, Set<Attempt>>()
  const held = createNewest<HeldAttempt>({
    most,
    mostBytes,
    bytesOf: ({ bytes }) => bytes,
    onDropped: forget,
  })

  function note({ attempt }: HeldAttempt): void {
    const its = byMessage.get(attempt.messageId) ?? new Set()
    byMessage.set(attempt.messageId, its.add(attempt))
  }

  function forget({ attempt }: HeldAttempt): void {
    const its = byMessage.get(attempt.messageId)
    its?.delete(attempt)
    if (its?.size === 0) byMessage.delete(attempt.messageId)
  }

  return {
    newest: {
      ...held,
      add(item) {
        // one that is too large is dropped as soon as it is added
        note(item)
        held.add(item)
      },
    },
    ofMessage: (messageId) => byMessage.get(messageId) ?? [],
  }
}
