import type { FencedWriter } from '../../kafka/fenced.ts'
import type { ConfigKeys } from '../../schemas/seal.ts'
import type { Suppression } from '../../schemas/settings.ts'
import { suppressionId } from '../../schemas/suppressed.ts'
import type { Deletion } from '../../schemas/task.ts'
import type { Facts } from '../settings/noun.ts'
import { configRecord } from '../settings/record.ts'

export type Suppressing = {
  settings: Pick<Facts, 'suppressions'>
  writer: Pick<FencedWriter, 'write'>
  keys: ConfigKeys
}

/** Of one transaction: other writes of settings wait for it. */
const AT_ONCE = 500
/** Kafka takes 1 MB of them at once, and an id may be as long as a whole call. */
const MOST_BYTES = 512 * 1024

/** Puts the users of a deletion on the suppression list, but for those who are on it. @throws when Kafka does not answer. */
export async function suppressUsers(
  deletion: Deletion,
  { settings, writer, keys }: Suppressing,
): Promise<void> {
  for (const some of batches(suppressionsOf(deletion))) {
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

function* batches(wanted: readonly Suppression[]): Generator<Suppression[]> {
  let batch: Suppression[] = []
  let bytes = 0
  for (const each of wanted) {
    const size = Buffer.byteLength(JSON.stringify(each))
    if (batch.length === AT_ONCE || (batch.length > 0 && bytes + size > MOST_BYTES)) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(each)
    bytes += size
  }
  if (batch.length > 0) yield batch
}
