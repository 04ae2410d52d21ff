import type { Producer } from '../../kafka/produce.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Event } from '../../schemas/event.ts'
import { eventRecord } from '../../schemas/event-record.ts'
import type { Deletion } from '../../schemas/task.ts'
import type { Owned } from '../tasks/run.ts'
import { deleteEvents } from './events.ts'
import { type Suppressing, suppressUsers } from './suppress.ts'

export type DeletionParts = Suppressing & {
  producer: Pick<Producer, 'produce'>
  encode: Codec<Event>['encode']
}

/** Events that are in memory at a time. */
const AT_ONCE = 1_000

/**
 * Suppresses the users first, so that no call of theirs is taken behind the event that deletes them, but for those on their way.
 * Then writes the events. @returns it as done, without the users' ids.
 * @throws when Kafka refuses or does not answer.
 */
export async function performDeletion(
  deletion: Deletion,
  owned: Owned,
  parts: DeletionParts,
): Promise<Deletion | undefined> {
  await suppressUsers(deletion, parts)
  const events = deleteEvents(deletion)
  for (let some = take(events); some.length > 0; some = take(events)) {
    if (!owned()) return undefined
    const outcome = await parts.producer.produce(some.map((event) => eventRecord(event, parts.encode)))
    if (outcome !== 'acked')
      throw new Error(`the events of deletion ${deletion.id} cannot be written: ${outcome}`)
  }
  return { ...deletion, state: 'done', userIds: [] }
}

function take(events: Iterator<Event>): Event[] {
  const taken: Event[] = []
  while (taken.length < AT_ONCE) {
    const { value, done } = events.next()
    if (done) break
    taken.push(value)
  }
  return taken
}
