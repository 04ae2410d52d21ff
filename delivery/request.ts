import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { Delivery } from '../schemas/delivery.ts'
import type { Destination } from '../settings/settings.ts'
import { webhookKey } from './targets.ts'

export type Request = {
  webhook: string
  urlIndex: number
  url: string
  headers: Record<string, string>
  body: string
  retryOn: readonly number[]
}

export type Posting = Pick<Delivery, 'deliveryId' | 'messageId' | 'body' | 'replay'>

/** `attempt`: number of this attempt, from 1. `now`: ms since 1970. */
export type RequestOf = { destination: Destination; urlIndex: number; attempt: number; now: number }

const REPLAY = new Set(['x-replay'])
const PREVIOUS = new Set(['x-signature-previous'])

/** Builds the POST for one webhook. Our headers win over configured ones. @throws RangeError without such a webhook. */
export function request(posting: Posting, { destination, urlIndex, attempt, now }: RequestOf): Request {
  const settings = templateOf(destination)
  const webhook = settings.webhooks[urlIndex]
  if (!webhook) throw new RangeError(`destination ${destination.id} has no webhook ${urlIndex}`)
  const { deliveryId, messageId, body, replay } = posting
  const older = olderKeys(settings, now)
  let configured = webhook.headers
  if (replay) configured = without(configured, REPLAY)
  if (older) configured = without(configured, PREVIOUS)
  const headers: Record<string, string> = {
    ...configured,
    'X-Delivery-Id': deliveryId,
    'X-Message-Id': headerSafe(messageId),
    'X-Attempt': String(attempt),
  }
  if (replay) headers['X-Replay'] = 'true'
  sign(headers, posting, { settings, older, now })
  return {
    webhook: webhook.key,
    urlIndex,
    url: webhook.url,
    headers,
    body,
    retryOn: settings.retryOn,
  }
}

/** During a rotation the previous secret signs too, so that the receiver may switch at any moment. */
const olderKeys = ({ keys, previous }: Template, now: number): SecretKeys | undefined =>
  keys && previous && now < previous.until ? previous.keys : undefined

function sign(
  headers: Record<string, string>,
  { deliveryId, body }: Posting,
  { settings, older, now }: { settings: Template; older: SecretKeys | undefined; now: number },
): void {
  const { keys, standardWebhooks } = settings
  if (!keys) return
  headers['X-Signature'] = signature(body, keys.plain)
  if (older) headers['X-Signature-Previous'] = signature(body, older.plain)
  if (!standardWebhooks) return
  const message = { id: deliveryId, timestamp: Math.floor(now / 1_000), body }
  headers['webhook-id'] = deliveryId
  headers['webhook-timestamp'] = String(message.timestamp)
  const current = standardSignature(message, keys.standard)
  headers['webhook-signature'] = older ? `${current} ${standardSignature(message, older.standard)}` : current
}

/** Percent-encodes a client's id if it contains characters that headers cannot. */
function headerSafe(id: string): string {
  return /^[\x20-\x7e]+$/.test(id) && id === id.trim() ? id : encodeURIComponent(id.toWellFormed())
}

const USER_AGENT = 'Sluice/1.0'

export type Template = {
  webhooks: readonly { key: string; url: string; headers: Readonly<Record<string, string>> }[]
  keys: SecretKeys | undefined
  /** `until`: ms since 1970. */
  previous: { keys: SecretKeys; until: number } | undefined
  standardWebhooks: boolean
  retryOn: readonly number[]
}

const NONE: readonly number[] = []

// a changed destination is another object
const known = new WeakMap<Destination, Template>()

/** Cached per destination, as building it would cost too much at thousands of POSTs a second. */
export function templateOf(destination: Destination): Template {
  const found = known.get(destination)
  if (found) return found
  const made = makeTemplate(destination)
  known.set(destination, made)
  return made
}

function makeTemplate(destination: Destination): Template {
  const { webhooks, sharedSecret, previousSecret, previousSecretExpiresAt, retryOn } = destination
  const standardWebhooks = sharedSecret !== undefined && destination.standardWebhooks === true
  const reserved = reservedNames(destination)
  return {
    webhooks: webhooks.map(({ url, headers }, urlIndex) => ({
      key: webhookKey(destination.id, urlIndex, url),
      url,
      headers: {
        'User-Agent': USER_AGENT,
        'Content-Type': 'application/json',
        ...without(headers, reserved),
      },
    })),
    keys: sharedSecret === undefined ? undefined : secretKeys(sharedSecret),
    previous:
      previousSecret === undefined || previousSecretExpiresAt === undefined
        ? undefined
        : { keys: secretKeys(previousSecret), until: Date.parse(previousSecretExpiresAt) },
    standardWebhooks,
    retryOn: retryOn ?? NONE,
  }
}

/**
 * Lower-case names of headers that we set on every POST, replacing configured ones. `request` replaces those that only
 * some POSTs have.
 */
function reservedNames({ sharedSecret, standardWebhooks }: Destination): Set<string> {
  const names = ['user-agent', 'content-type', 'x-delivery-id', 'x-message-id', 'x-attempt']
  if (sharedSecret !== undefined) {
    names.push('x-signature')
    if (standardWebhooks) names.push('webhook-id', 'webhook-timestamp', 'webhook-signature')
  }
  return new Set(names)
}

export const without = (headers: Readonly<Record<string, string>>, names: ReadonlySet<string>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase())))

/** The keys of one secret. `plain`: its UTF-8 bytes. `standard`: the same, unless it is base64 (see `standardKey`). */
export type SecretKeys = { plain: KeyObject; standard: KeyObject }

export const secretKeys = (secret: string): SecretKeys => ({
  plain: createSecretKey(Buffer.from(secret)),
  standard: createSecretKey(standardKey(secret)),
})

/** Standard Webhooks writes a secret as `whsec_` and base64. Saving refuses anything else; here it never throws. */
function standardKey(secret: string): Buffer {
  return secret.startsWith('whsec_')
    ? Buffer.from(secret.slice('whsec_'.length), 'base64')
    : Buffer.from(secret)
}

/** Lower-case hex HMAC-SHA1 of the body's UTF-8 bytes, keyed by the secret in UTF-8 (docs/guides/receivers.md). */
export const signature = (body: string, secret: string | KeyObject) =>
  createHmac('sha1', secret).update(body).digest('hex')

/** `timestamp`: seconds since 1970. */
export type StandardMessage = { id: string; timestamp: number; body: string }

/**
 * Standard Webhooks' symmetric signature: `v1,` and the base64 HMAC-SHA256 of id, timestamp and body, joined by dots.
 */
export const standardSignature = ({ id, timestamp, body }: StandardMessage, key: KeyObject) =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
