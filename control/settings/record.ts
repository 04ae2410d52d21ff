import { randomBytes } from 'node:crypto'
import type { OutRecord } from '../../kafka/produce.ts'
import { type Keys, mapSecrets, seal } from '../../schemas/seal.ts'
import type { Kind } from '../../schemas/settings.ts'
import { CONFIG } from '../../schemas/topics.ts'

/** How a setting is written to topic `config`: JSON with its secrets sealed; `null` is a tombstone. */
export function configRecord(
  setting: { kind: Kind; id: string; record: object | null },
  keys: Keys,
): OutRecord {
  const key = `${setting.kind}/${setting.id}`
  if (setting.record === null) return { topic: CONFIG, key, value: null }
  const sealed = mapSecrets(setting.record, (secret) =>
    seal(secret, { keys, owner: key, nonce: randomBytes(12) }),
  )
  return { topic: CONFIG, key, value: JSON.stringify(sealed) }
}
