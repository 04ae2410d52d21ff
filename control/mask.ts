import { mapSecrets } from '../schemas/seal.ts'
import type { Who } from './auth.ts'

/** Stands in answers where a secret is; sent back in a PUT it means: as it was. */
export const MASK = '***'

/** A record as it may leave the process: without its secrets, but for write keys, which an admin sees. */
export function mask<T extends object>(record: T, who: Who): T {
  const masked = mapSecrets(record, () => MASK)
  return who === 'admin' && 'writeKey' in record ? { ...masked, writeKey: record.writeKey } : masked
}
