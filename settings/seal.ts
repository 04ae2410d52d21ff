import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { isObject } from '../process/json-objects.ts'

/**
 * Settings in topic `config` are JSON. Each secret is sealed with AES-256-GCM as `sealed2:` + base64(12 bytes nonce,
 * 16 bytes tag, ciphertext). The last field, `mac`, is HMAC-SHA256 over the record's key and everything before it. A
 * secret opens only in its record, at its path and with the record's URLs (SECURITY.md).
 */
const SEALED = 'sealed2:'
/** Earlier format: bound only to the record, under CONFIG_KEY itself, without `mac`. */
const SEALED_BEFORE = 'sealed:'
const NONCE = 12
const TAG = 16
const MAC = /^(.*),"mac":"([\w-]{43})"\}$/s

/** The first seals; any of them opens. */
export type Keys = readonly Buffer[]

/** Keys derived from CONFIG_KEY. */
const PURPOSES = ['records', 'sources', 'destinations', 'hashKeys', 'sessions', 'backups'] as const
export type Purpose = (typeof PURPOSES)[number]

/**
 * A process has only the keys of its role. `records`, `sessions` and `backups` sign; the others seal secrets.
 * `takesUnsigned`: accept records of an earlier version; `before` (CONFIG_KEY itself) opens their secrets.
 */
export type ConfigKeys = { records: Keys; before: Keys; takesUnsigned: boolean } & Partial<
  Record<Exclude<Purpose, 'records'>, Keys>
>

export function deriveKey(configKey: Buffer, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', configKey, '', `sluice config ${purpose}`, 32))
}

/** `owner`: the record's key `kind/id`. `path`: JSON pointer. */
type EncryptionContext = { owner: string; path: string; urls: readonly string[] }

const authenticatedData = ({ owner, path, urls }: EncryptionContext) =>
  Buffer.from(JSON.stringify([owner, path, urls]))

function seal(text: string, key: Buffer, context: EncryptionContext): string {
  const nonce = randomBytes(NONCE)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(authenticatedData(context))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return SEALED + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64')
}

function open(bytes: Buffer, keys: Keys, bound: Buffer): string | undefined {
  for (const key of keys) {
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE), { authTagLength: TAG })
      decipher.setAAD(bound).setAuthTag(bytes.subarray(NONCE, NONCE + TAG))
      return Buffer.concat([decipher.update(bytes.subarray(NONCE + TAG)), decipher.final()]).toString('utf8')
    } catch {
      // another key, or a forgery
    }
  }
  return undefined
}

function keysOf(
  { owner, path }: Pick<EncryptionContext, 'owner' | 'path'>,
  keys: ConfigKeys,
): Keys | undefined {
  if (owner.startsWith('source/')) return keys.sources
  return path === HASH_KEY ? keys.hashKeys : keys.destinations
}

/** Has a key of its own: the router reads it, but no other secret of a destination. */
const HASH_KEY = '/hashKey'

/** @param owner the record's key `kind/id`. */
export function sealRecord(owner: string, record: object, keys: ConfigKeys): string {
  const [recordKey] = keys.records
  const urls = urlsOf(record)
  const sealed = mapSecrets(record, (secret, path) => {
    const [secretKey] = keysOf({ owner, path }, keys) ?? []
    if (!secretKey) throw new Error('no key to seal with')
    return seal(secret, secretKey, { owner, path, urls })
  })
  if (!recordKey) throw new Error('no key to sign with')
  const text = JSON.stringify(sealed).slice(0, -1)
  return `${text},"mac":"${macOf(owner, text, recordKey)}"}`
}

const macOf = (owner: string, text: string, key: Buffer) =>
  createHmac('sha256', key).update(`${owner}\n${text}`).digest('base64url')

/** `unsigned`: from an earlier version. `isOld`: signed with an old key, so it must be rewritten. */
export type Verified = { json: string; isOld: boolean } | 'forged' | 'unsigned'

export function verify(owner: string, value: string, { records }: Pick<ConfigKeys, 'records'>): Verified {
  const [, text, given] = MAC.exec(value) ?? []
  if (text === undefined || given === undefined) return 'unsigned'
  // compared as text: decoding ignores two bits of the last character
  const isBy = (key: Buffer) => timingSafeEqual(Buffer.from(macOf(owner, text, key)), Buffer.from(given))
  const signer = records.findIndex(isBy)
  return signer === -1 ? 'forged' : { json: `${text}}`, isOld: signer > 0 }
}

/** Stands for a secret of another role. Valid as any kind of secret. */
const NOT_OURS = 'not-for-this-process'

/**
 * @param isSigned false: also opens secrets of an earlier version.
 * @returns the record in clear, with `NOT_OURS` for secrets of other roles; undefined if no key opens a secret.
 */
export function openRecord(
  owner: string,
  { record, isSigned }: { record: object; isSigned: boolean },
  keys: ConfigKeys,
): object | undefined {
  const urls = urlsOf(record)
  let isOpen = true
  const opened = mapSecrets(record, (sealed, path) => {
    const recordKeys = keysOf({ owner, path }, keys)
    if (!recordKeys) return NOT_OURS
    const before = isSigned ? [] : keys.before
    const text = openSecret(sealed, { recordKeys, before, context: { owner, path, urls } })
    isOpen &&= text !== undefined
    return text ?? ''
  })
  return isOpen ? opened : undefined
}

type Opening = { recordKeys: Keys; before: Keys; context: EncryptionContext }

function openSecret(sealed: string, { recordKeys, before, context }: Opening): string | undefined {
  if (sealed.startsWith(SEALED)) return open(bytesOf(sealed, SEALED), recordKeys, authenticatedData(context))
  if (!sealed.startsWith(SEALED_BEFORE)) return undefined
  return open(bytesOf(sealed, SEALED_BEFORE), before, Buffer.from(context.owner))
}

const bytesOf = (sealed: string, prefix: string) => Buffer.from(sealed.slice(prefix.length), 'base64')

function urlsOf(record: object): string[] {
  if (!('webhooks' in record) || !Array.isArray(record.webhooks)) return []
  return record.webhooks.map(({ url }) => String(url))
}

const SECRET_NAMES = ['writeKey', 'previousWriteKey', 'sharedSecret', 'previousSecret', 'hashKey']

/** `webhook`: the index of the webhook if it is a header. */
export type SecretField = {
  owner: Record<string, unknown>
  name: string
  path: readonly (string | number)[]
  webhook?: number
}

/** The secrets of a record, which need not be validated yet: these fields, and the header values of webhooks. */
export function secretFields(record: object): SecretField[] {
  if (!isObject(record)) return []
  const webhooks: unknown[] = Array.isArray(record.webhooks) ? record.webhooks : []
  const fields = [
    ...SECRET_NAMES.map((name) => ({ owner: record, name, path: [name] })),
    ...webhooks.flatMap(secretHeaders),
  ]
  return fields.filter(({ owner, name }) => typeof owner[name] === 'string')
}

function secretHeaders(webhook: unknown, index: number): SecretField[] {
  if (!isObject(webhook) || !isObject(webhook.headers)) return []
  const owner = webhook.headers
  const path = ['webhooks', index, 'headers']
  return Object.keys(owner).map((name) => ({ owner, name, path: [...path, name], webhook: index }))
}

export const secretsOf = (record: object): string[] =>
  secretFields(record).map(({ owner, name }) => String(owner[name]))

/** Changes a copy of the record. `path`: without escapes. */
export function mapSecrets<T extends object>(record: T, change: (secret: string, path: string) => string): T {
  const copy = structuredClone(record)
  for (const { owner, name, path } of secretFields(copy))
    owner[name] = change(String(owner[name]), `/${path.join('/')}`)
  return copy
}
