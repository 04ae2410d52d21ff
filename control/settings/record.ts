import type { OutRecord } from '../../kafka/produce.ts'
import { type ConfigKeys, sealRecord } from '../../schemas/seal.ts'
import type { Kind } from '../../schemas/settings.ts'
import { CONFIG } from '../../schemas/topics.ts'

/** How a setting is written to topic `config`: JSON with its secrets sealed, signed; `null` is a tombstone. */
export function configRecord(
  setting: { kind: Kind; id: string; record: object | null },
  keys: ConfigKeys,
): OutRecord {
  const key = `${setting.kind}/${setting.id}`
  if (setting.record === null) return { topic: CONFIG, key, value: null }
  return { topic: CONFIG, key, value: sealRecord(key, setting.record, keys) }
}
