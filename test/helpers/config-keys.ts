import { createCipheriv, randomBytes } from 'node:crypto'
import { keysFor } from '../../settings/config-key.ts'
import { type ConfigKeys, mapSecrets } from '../../settings/seal.ts'

/** What control makes of a CONFIG_KEY of these. */
export const keysOf = (...keys: readonly Buffer[]): ConfigKeys => controlKeys(keys, false)

/** The same under UNSIGNED_SETTINGS=accept. */
export const acceptingUnsigned = (...keys: readonly Buffer[]): ConfigKeys => controlKeys(keys, true)

const controlKeys = (keys: readonly Buffer[], takesUnsigned: boolean) =>
  keysFor(
    'control',
    keys.map((whole) => ({ whole })),
    takesUnsigned,
  )

/** A record as an earlier version wrote it: unsigned, with each secret encrypted under CONFIG_KEY itself and bound only to the record. */
export function recordBefore(owner: string, record: object, key: Buffer): string {
  const sealed = mapSecrets(record, (secret) => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner))
    const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
    return `sealed:${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')}`
  })
  return JSON.stringify(sealed)
}
