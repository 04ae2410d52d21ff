import { deliveryId } from '../../../delivery/routing/routing.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Event } from '../../../schemas/event.ts'
import { ATTEMPTS_RETENTION } from '../../../schemas/topics.ts'
import type { AttemptRouteParts } from '../attempts.ts'
import { type DeadLetter, shownUser } from '../dead/dead-letter.ts'
import type { DeadRouteParts } from '../dead/routes.ts'
import { mergeAttempts } from './trace.ts'

type Held = {
  attempts: Pick<AttemptRouteParts['attempts'], 'recent' | 'ofMessage'>
  dead: Pick<DeadRouteParts['dead'], 'recent'>
}

/** The history of deliveries, from the attempts and dead letters in memory. */
export type History = {
  /**
   * The latest attempts, oldest first, and when it was last given up.
   * @param user if known: calls of several users with one messageId share a deliveryId.
   */
  of(deliveryId: string, user?: string | null): { attempts: readonly Attempt[]; dead: DeadLetter | undefined }
  destinationsOf(event: Event): readonly string[]
  /** Since when all attempts are known, in ms since 1970. */
  knownSince: number
}

const keyOf = (deliveryId: string, user: string | null) => JSON.stringify([deliveryId, user])

/** One pass over the dead letters for all events: thousands may share a deliveryId. */
export function historyOf(
  events: readonly Pick<Event, 'messageId'>[],
  { attempts, dead, now }: Held & { now: number },
): History {
  const messageIds = new Set(events.map(({ messageId }) => messageId))
  const attempted = [...messageIds].flatMap((messageId) => [...attempts.ofMessage(messageId)])
  const letters = dead.recent.all().filter(({ messageId }) => messageIds.has(messageId))
  const attemptsBy = new Map(
    [...Map.groupBy(attempted, ({ deliveryId }) => deliveryId)].map(([id, of]) => [
      id,
      mergeAttempts([], of),
    ]),
  )
  const lettersBy = new Map(letters.map((letter) => [letter.deliveryId, letter]))
  const lettersByUser = new Map(letters.map((letter) => [keyOf(letter.deliveryId, letter.user), letter]))
  // once, because many events may share a messageId with thousands of attempts
  const destinationsBy = new Map(
    [...Map.groupBy([...attempted, ...letters], ({ messageId }) => messageId)].map(([messageId, of]) => [
      messageId,
      [...new Set(of.map(({ destinationId }) => destinationId))],
    ]),
  )
  const heldSince = attempts.recent.oldest() ?? Number.NEGATIVE_INFINITY
  return {
    knownSince: Math.max(heldSince, now - ATTEMPTS_RETENTION),
    of: (id, user) => ({
      attempts: attemptsBy.get(id) ?? [],
      dead: user === undefined ? lettersBy.get(id) : lettersByUser.get(keyOf(id, shownUser(user))),
    }),
    destinationsOf: (event) => {
      const ids = destinationsBy.get(event.messageId) ?? []
      // another source may have used the messageId
      const isKnown = (id: string) => attemptsBy.has(id) || lettersBy.has(id)
      return ids.filter((id) => isKnown(deliveryId(id, event)))
    },
  }
}

export function namedBy(
  id: string,
  { attempts, dead }: Held,
): { messageId: string; destinationId: string; sourceId?: string } | undefined {
  const attempted = attempts.recent.all().find(({ attempt }) => attempt.deliveryId === id)
  return attempted?.attempt ?? dead.recent.all().find(({ deliveryId }) => deliveryId === id)
}
