import type { FencedWriter } from '../../kafka/fenced.ts'
import type { Keys } from '../../schemas/seal.ts'
import type { Suppression } from '../../schemas/settings.ts'
import type { Deletion } from '../../schemas/task.ts'
import type { Facts } from '../settings/noun.ts'
import { configRecord } from '../settings/record.ts'
import { suppressionId } from '../settings/suppressions.ts'

export type Suppressing = {
  settings: Pick<Facts, 'suppressions'>
  writer: Pick<FencedWriter, 'write'>
  keys: Keys
}

/** Of one transaction: other writes of settings wait for it. */
const AT_ONCE = 500

/** Puts the users of a deletion on the suppression list, but for those who are on it. @throws when Kafka does not answer. */
export async function suppressUsers(
  deletion: Deletion,
  { settings, writer, keys }: Suppressing,
): Promise<void> {
  const wanted = suppressionsOf(deletion)
  for (let first = 0; first < wanted.length; first += AT_ONCE) {
    const some = wanted.slice(first, first + AT_ONCE)
    const written = await writer.write(() => {
      const missing = some.filter(({ id }) => !settings.suppressions.has(id))
      if (missing.length === 0) return { refusal: 'all are there' }
      return {
        records: missing.map((record) => configRecord({ kind: 'suppression', id: record.id, record }, keys)),
      }
    })
    if ('unavailable' in written) throw written.unavailable
  }
}

function suppressionsOf({ suppressedFor, userIds, createdAt }: Deletion): Suppression[] {
  return suppressedFor.flatMap((sourceId) =>
    userIds.map((userId) => ({
      id: suppressionId({ sourceId, userId }),
      sourceId,
      userId,
      version: 1,
      updatedAt: createdAt,
    })),
  )
}
