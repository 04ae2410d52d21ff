import type { Event } from '../../schemas/event.ts'
import { NOTHING_SAID } from '../../schemas/nothing-said.ts'
import { hashedId } from '../../schemas/suppressed.ts'
import type { Deletion } from '../../schemas/task.ts'

/**
 * One event for each user and affected source, with the same ids however often they are made: the router drops those that
 * are there already when a deletion is performed anew after a crash.
 */
export function* deleteEvents({ id, userIds, sourceIds, createdAt }: Deletion): Generator<Event> {
  const time = Date.parse(createdAt)
  for (const sourceId of sourceIds)
    for (const userId of userIds)
      yield {
        ...NOTHING_SAID,
        messageId: hashedId([id, sourceId, userId]),
        sourceId,
        type: 'delete',
        userId,
        timestamp: time,
        receivedAt: time,
      }
}
