import { type DeadLetter, letterOf } from '../../control/activity/dead/dead-letter.ts'
import type { FirstOffsets } from '../../control/activity/dead/follow.ts'
import type { DeadRouteParts } from '../../control/activity/dead/routes.ts'
import { createRecentRecords } from '../../control/activity/records/recent-records.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { aDelivery } from '../helpers/events.ts'

export const aDeadOne = (fields: Partial<Delivery> = {}): Delivery =>
  aDelivery({
    deadReason: 'attempts_exhausted',
    deadAt: Date.parse('2026-01-02T03:04:05.678Z'),
    history: [
      {
        attempt: 1,
        urlIndex: 0,
        startedAt: Date.parse('2026-01-02T03:04:00.000Z'),
        durationMs: 12,
        outcome: 'retry',
        status: 503,
        code: 'http_5xx',
      },
    ],
    ...fields,
  })

/** As if read from one partition in this order. `low`: those before it have expired. `users`: theirs, or else u1. */
export function deadHeld(
  deliveries: readonly Delivery[] = [],
  {
    low = 0,
    users = [],
    isPartial = () => false,
    ...more
  }: { low?: number; users?: readonly string[] } & Partial<DeadRouteParts['dead']> = {},
): Pick<DeadRouteParts, 'dead'> {
  const recent = createRecentRecords<DeadLetter>({ maxCount: 1_000 })
  for (const [offset, delivery] of deliveries.entries()) {
    const code = delivery.deadReason === 'rules_failed' ? 'too_large' : null
    const key = `${delivery.destinationId}/${users[offset] ?? 'u1'}`
    recent.add(letterOf(delivery, { partition: 0, offset, timestamp: delivery.deadAt ?? 0, key, code }))
  }
  const firstOffsets: FirstOffsets = new Map([[0, { low }]])
  const readBodies: DeadRouteParts['dead']['readBodies'] = async (places) =>
    new Map(
      places.flatMap((place) => {
        const delivery = deliveries[place.offset]
        return delivery ? [[place, delivery] as const] : []
      }),
    )
  return {
    dead: {
      recent,
      loaded: Promise.resolve(),
      isLoaded: () => true,
      isFresh: () => true,
      isPartial,
      firstOffsets: async () => firstOffsets,
      readBodies,
      ...more,
    },
  }
}
