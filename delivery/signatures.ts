import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { Delivery } from '../schemas/delivery.ts'
import type { Destination } from '../settings/settings.ts'

export type Signing = {
  keys: SecretKeys | undefined
  /** `until`: ms since 1970. */
  previous: { keys: SecretKeys; until: number } | undefined
  standardWebhooks: boolean
}

export function signingOf(destination: Destination): Signing {
  const { sharedSecret, previousSecret, previousSecretExpiresAt } = destination
  return {
    keys: sharedSecret === undefined ? undefined : secretKeys(sharedSecret),
    previous:
      previousSecret === undefined || previousSecretExpiresAt === undefined
        ? undefined
        : { keys: secretKeys(previousSecret), until: Date.parse(previousSecretExpiresAt) },
    standardWebhooks: sharedSecret !== undefined && destination.standardWebhooks === true,
  }
}

/** During a rotation the previous secret signs too, so the receiver may switch at any moment. */
export const olderKeys = ({ keys, previous }: Signing, now: number): SecretKeys | undefined =>
  keys && previous && now < previous.until ? previous.keys : undefined

/** `now`: ms since 1970. */
export function sign(
  headers: Record<string, string>,
  { deliveryId, body }: Pick<Delivery, 'deliveryId' | 'body'>,
  { settings, older, now }: { settings: Signing; older: SecretKeys | undefined; now: number },
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

/** `plain`: the secret's UTF-8 bytes. `standard`: the same, unless it is base64 (see `standardKey`). */
type SecretKeys = { plain: KeyObject; standard: KeyObject }

const secretKeys = (secret: string): SecretKeys => ({
  plain: createSecretKey(Buffer.from(secret)),
  standard: createSecretKey(standardKey(secret)),
})

/** Standard Webhooks writes a secret as `whsec_` and base64. Saving refuses anything else; here it never throws. */
function standardKey(secret: string): Buffer {
  return secret.startsWith('whsec_')
    ? Buffer.from(secret.slice('whsec_'.length), 'base64')
    : Buffer.from(secret)
}

/** Lower-case hex HMAC-SHA1 of the UTF-8 body (docs/guides/receivers.md). */
export const signature = (body: string, secret: string | KeyObject) =>
  createHmac('sha1', secret).update(body).digest('hex')

/** `timestamp`: seconds since 1970. */
type StandardMessage = { id: string; timestamp: number; body: string }

/** Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of id, timestamp and body, joined by dots. */
const standardSignature = ({ id, timestamp, body }: StandardMessage, key: KeyObject) =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
