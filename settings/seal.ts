import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/**
 * How settings lie in topic `config`: JSON, each secret in it sealed with AES-256-GCM as `sealed2:` + base64(12 bytes of nonce, 16 of tag, the
 * rest), and at its end `mac`, HMAC-SHA256 of all before it and of the record's key. A secret is bound to its record, its place in it and the URLs of
 * the record: moved anywhere else, or with another URL beside it, it does not open. SECURITY.md says what holds.
 */
const SEALED = 'sealed2:'
/** As an earlier version sealed: bound to the record alone, under CONFIG_KEY itself, in a record without `mac`. */
const SEALED_BEFORE = 'sealed:'
const NONCE = 12
const TAG = 16
/** HMAC-SHA256 in base64url. */
const MAC = /^(.*),"mac":"([\w-]{43})"\}$/s

/** The first seals, any of them opens. */
export type Keys = readonly Buffer[]

/** What CONFIG_KEY is made into; each process has those of its role alone. */
export const PURPOSES = ['records', 'sources', 'destinations', 'sessions'] as const
export type Purpose = (typeof PURPOSES)[number]

/**
 * `records` authenticate them, `sources` and `destinations` open their secrets, `sessions` sign control's. Without one of them the process does
 * without what it is for. `takesUnsigned`: whether records of an earlier version are taken, whose secrets `before` opens, CONFIG_KEY itself.
 */
export type ConfigKeys = { records: Keys; before: Keys; takesUnsigned: boolean } & Partial<
  Record<Exclude<Purpose, 'records'>, Keys>
>

export function deriveKey(configKey: Buffer, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', configKey, '', `sluice config ${purpose}`, 32))
}

/** Where a secret is: the record's key `kind/id`, the path within it, and the URLs beside it. */
type Place = { owner: string; path: string; urls: readonly string[] }

const placeText = ({ owner, path, urls }: Place) => Buffer.from(JSON.stringify([owner, path, urls]))

function seal(text: string, key: Buffer, place: Place): string {
  const nonce = randomBytes(NONCE)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(placeText(place))
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
      // another key, or tampered with
    }
  }
  return undefined
}

/** Those for the secrets of a record; undefined: this process does without them. */
function keysOf(owner: string, keys: ConfigKeys): Keys | undefined {
  return owner.startsWith('source/') ? keys.sources : keys.destinations
}

/** A record as it is written to the topic. @param owner its key `kind/id`. */
export function sealRecord(owner: string, record: object, keys: ConfigKeys): string {
  const [secretKey] = keysOf(owner, keys) ?? []
  const [recordKey] = keys.records
  const urls = urlsOf(record)
  const sealed = mapSecrets(record, (secret, path) => {
    if (!secretKey) throw new Error('no key to seal with')
    return seal(secret, secretKey, { owner, path, urls })
  })
  if (!recordKey) throw new Error('no key to sign with')
  const text = JSON.stringify(sealed).slice(0, -1)
  return `${text},"mac":"${macOf(owner, text, recordKey).toString('base64url')}"}`
}

const macOf = (owner: string, text: string, key: Buffer) =>
  createHmac('sha256', key).update(`${owner}\n${text}`).digest()

/**
 * `forged`: nobody who has CONFIG_KEY has written it so. `unsigned`: it has no signature, as those of an earlier version. `isOld`: it is to be written anew,
 * by an earlier version or under a key that is not the first any more.
 */
export type Verified = { json: string; isOld: boolean } | 'forged' | 'unsigned'

/** Whether a record is as it was written. */
export function verify(owner: string, value: string, { records }: Pick<ConfigKeys, 'records'>): Verified {
  const [, text, mac] = MAC.exec(value) ?? []
  if (text === undefined || mac === undefined) return 'unsigned'
  const given = Buffer.from(mac, 'base64url')
  const signer = records.findIndex((key) => timingSafeEqual(macOf(owner, text, key), given))
  return signer === -1 ? 'forged' : { json: `${text}}`, isOld: signer > 0 }
}

/** Stands where a secret is that this process has no key for, by its role: of the form of any of them. */
const NOT_OURS = 'not-for-this-process'

/**
 * @param isSigned only in others are secrets opened that an earlier version has sealed.
 * @returns the record with its secrets in clear; undefined when no key opens one of them. Of what this role has no keys for there is a stand-in.
 */
export function openRecord(
  owner: string,
  { record, isSigned }: { record: object; isSigned: boolean },
  keys: ConfigKeys,
): object | undefined {
  const own = keysOf(owner, keys)
  const urls = urlsOf(record)
  let isOpen = true
  const opened = mapSecrets(record, (sealed, path) => {
    if (!own) return NOT_OURS
    const before = isSigned ? [] : keys.before
    const text = openSecret(sealed, { own, before, place: { owner, path, urls } })
    isOpen &&= text !== undefined
    return text ?? ''
  })
  return isOpen ? opened : undefined
}

type Opening = { own: Keys; before: Keys; place: Place }

function openSecret(sealed: string, { own, before, place }: Opening): string | undefined {
  if (sealed.startsWith(SEALED)) return open(bytesOf(sealed, SEALED), own, placeText(place))
  if (!sealed.startsWith(SEALED_BEFORE)) return undefined
  return open(bytesOf(sealed, SEALED_BEFORE), before, Buffer.from(place.owner))
}

const bytesOf = (sealed: string, prefix: string) => Buffer.from(sealed.slice(prefix.length), 'base64')

function urlsOf(record: object): string[] {
  if (!('webhooks' in record) || !Array.isArray(record.webhooks)) return []
  return record.webhooks.map(({ url }) => String(url))
}

/** Secret fields of a record, beside the header values of webhooks. */
export const SECRET_FIELDS = ['writeKey', 'sharedSecret', 'previousSecret'] as const

/** Which fields of a record are secrets: applies `change` to each, and leaves the rest. `path` is a JSON pointer. */
export function mapSecrets<T extends object>(record: T, change: (secret: string, path: string) => string): T {
  const copy = structuredClone(record) as T & Record<string, unknown>
  for (const field of SECRET_FIELDS)
    if (typeof copy[field] === 'string') Object.assign(copy, { [field]: change(copy[field], `/${field}`) })
  if ('webhooks' in copy && Array.isArray(copy.webhooks))
    copy.webhooks.forEach((webhook, index) => {
      for (const [name, value] of Object.entries(webhook.headers ?? {}))
        webhook.headers[name] = change(String(value), `/webhooks/${index}/headers/${name}`)
    })
  return copy
}
