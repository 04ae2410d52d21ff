import type { Event } from '../../schemas/event.ts'
import { NOTHING_SAID } from '../../schemas/nothing-said.ts'
import type { Computation } from '../../schemas/settings.ts'
import { hashedId } from '../../schemas/suppressed.ts'
import type { Sync } from '../../schemas/task.ts'
import type { Change } from './diff.ts'

/** An audience's users have `true`; who is none of them any more `false`, and a trait without value is `null`. */
const GONE = { audience: 'false', trait: 'null' }

/**
 * The identify call that tells of a change. It has the same id when the sync is performed anew after a crash, so that the router
 * drops what is there already.
 */
export function identifyOf(
  { userId, value }: Change,
  { of, id, createdAt }: Sync,
  computation: Computation,
): Event {
  const time = Date.parse(createdAt)
  const { key } = computation
  return {
    ...NOTHING_SAID,
    messageId: hashedId([id, userId]),
    sourceId: computation.sourceId,
    type: 'identify',
    userId,
    traits: `{${JSON.stringify(key)}:${value ?? GONE[of.kind]}}`,
    context: JSON.stringify({
      personas: { computation_class: of.kind, computation_id: of.id, computation_key: key },
    }),
    timestamp: time,
    receivedAt: time,
  }
}
