import { createCipheriv, createDecipheriv } from 'node:crypto'

/**
 * Secrets in topic `config`: AES-256-GCM under CONFIG_KEY, bound to the record they belong to, as
 * `sealed:` + base64(12 bytes of nonce, 16 of tag, the rest). The first key seals, any of them opens.
 */
const PREFIX = 'sealed:'
const NONCE = 12
const TAG = 16

export type Keys = readonly Buffer[]

/** @param nonce 12 random bytes, never used before. @param owner the record's key `kind/id`. */
export function seal(
  text: string,
  { keys, nonce, owner }: { keys: Keys; nonce: Buffer; owner: string },
): string {
  const [key] = keys
  if (!key) throw new Error('no key to seal with')
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(owner))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return PREFIX + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')
}

/** @returns the text, or undefined when no key opens it. */
export function unseal(sealed: string, { keys, owner }: { keys: Keys; owner: string }): string | undefined {
  if (!sealed.startsWith(PREFIX)) return undefined
  const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64')
  for (const key of keys) {
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE), { authTagLength: TAG })
      decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(NONCE, NONCE + TAG))
      return Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()]).toString('utf8')
    } catch {
      // another key, or tampered with
    }
  }
  return undefined
}

/** Which fields of a record are secrets: applies `change` to each, and leaves the rest. */
export function mapSecrets<T extends object>(record: T, change: (secret: string) => string): T {
  const copy = structuredClone(record) as T & Record<string, unknown>
  for (const field of ['writeKey', 'sharedSecret', 'previousSecret'])
    if (typeof copy[field] === 'string') Object.assign(copy, { [field]: change(copy[field]) })
  if ('webhooks' in copy && Array.isArray(copy.webhooks))
    for (const webhook of copy.webhooks)
      for (const [name, value] of Object.entries(webhook.headers ?? {}))
        webhook.headers[name] = change(String(value))
  return copy
}
