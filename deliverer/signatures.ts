import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

/** The keys of one secret. `plain`: its UTF-8 bytes. `standard`: the same, unless the secret is written as base64 (see `standardKey`). */
export type SecretKeys = { plain: KeyObject; standard: KeyObject }

export const secretKeys = (secret: string): SecretKeys => ({
  plain: createSecretKey(Buffer.from(secret)),
  standard: createSecretKey(standardKey(secret)),
})

/** Standard Webhooks writes a secret as `whsec_` and its bytes in base64. What is not base64 there is refused on saving; here it never throws. */
function standardKey(secret: string): Buffer {
  return secret.startsWith('whsec_')
    ? Buffer.from(secret.slice('whsec_'.length), 'base64')
    : Buffer.from(secret)
}

/** Lower-case hex HMAC-SHA1 of the body's UTF-8 bytes, keyed by the secret in UTF-8 (docs/receivers.md). */
export const signature = (body: string, secret: string | KeyObject) =>
  createHmac('sha1', secret).update(body).digest('hex')

/** `timestamp`: of this attempt, seconds since 1970. */
export type StandardMessage = { id: string; timestamp: number; body: string }

/** Standard Webhooks' symmetric signature: `v1,` and HMAC-SHA256 in base64 of id, timestamp and body, joined by dots. */
export const standardSignature = ({ id, timestamp, body }: StandardMessage, key: KeyObject) =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
