import { deliveryId } from '../../router/route.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import type { Event } from '../../schemas/event.ts'
import { ATTEMPTS_KEPT } from '../../schemas/topics.ts'
import type { AttemptRouteParts } from '../attempts/routes.ts'
import type { DeadLetter } from '../dead/query.ts'
import type { DeadRouteParts } from '../dead/routes.ts'

type Held = {
  attempts: Pick<AttemptRouteParts['attempts'], 'newest' | 'ofMessage'>
  dead: Pick<DeadRouteParts['dead'], 'newest'>
}

/** What is known of some events' deliveries. */
export type History = {
  /** Attempts oldest first, and the last time that it was given up. */
  of(deliveryId: string): { attempts: readonly Attempt[]; dead: DeadLetter | undefined }
  /** Those that it has been tried for, or given up at. */
  destinationsOf(event: Event): readonly string[]
  /** Since when all attempts are known, in ms since 1970. */
  knownSince: number
}

/** Of what is held: of dead letters in one pass over all, whatever the number of events. */
export function historyOf(
  events: readonly Pick<Event, 'messageId'>[],
  { attempts, dead, now }: Held & { now: number },
): History {
  const wanted = new Set(events.map(({ messageId }) => messageId))
  const tried = [...wanted]
    .flatMap((messageId) => [...attempts.ofMessage(messageId)])
    .sort((one, other) => one.startedAt - other.startedAt)
  const letters = dead.newest.all().filter(({ messageId }) => wanted.has(messageId))
  const triedBy = Map.groupBy(tried, ({ deliveryId }) => deliveryId)
  const deadBy = new Map(letters.map((letter) => [letter.deliveryId, letter]))
  const places = [...tried, ...letters]
  const heldSince = attempts.newest.oldest() ?? Number.NEGATIVE_INFINITY
  return {
    knownSince: Math.max(heldSince, now - ATTEMPTS_KEPT),
    of: (id) => ({
      attempts: triedBy.get(id) ?? [],
      dead: deadBy.get(id),
    }),
    destinationsOf: (event) => {
      const ids = new Set(
        places
          .filter(({ messageId }) => messageId === event.messageId)
          .map(({ destinationId }) => destinationId),
      )
      // another source may have sent the same messageId
      const isKnown = (id: string) => triedBy.has(id) || deadBy.has(id)
      return [...ids].filter((id) => isKnown(deliveryId(id, event)))
    },
  }
}

/** @returns the call that a delivery is of, as far as an attempt or a dead letter tells of it. */
export function namedBy(
  id: string,
  { attempts, dead }: Held,
): { messageId: string; destinationId: string; sourceId?: string } | undefined {
  const tried = attempts.newest.all().find(({ attempt }) => attempt.deliveryId === id)
  return tried?.attempt ?? dead.newest.all().find(({ deliveryId }) => deliveryId === id)
}
