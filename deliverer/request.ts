import type { Delivery } from '../schemas/delivery.ts'
import type { Destination } from '../schemas/settings.ts'
import { type Prepared, prepared, without } from './prepared.ts'
import { type SecretKeys, signature, standardSignature } from './signatures.ts'

/** One POST as it goes out: header names as they are sent. `retryOn`: statuses below 500 that are retried as well. */
export type Request = {
  /** Key of the webhook: see `Target`. */
  webhook: string
  urlIndex: number
  url: string
  headers: Record<string, string>
  body: string
  retryOn: readonly number[]
}

/** What goes out of a delivery. */
export type Posting = Pick<Delivery, 'deliveryId' | 'messageId' | 'body' | 'replay'>

/** `attempt`: number of this attempt, from 1. `now`: ms since 1970. */
export type RequestOf = { destination: Destination; urlIndex: number; attempt: number; now: number }

const REPLAY = new Set(['x-replay'])
const PREVIOUS = new Set(['x-signature-previous'])

/** @returns the POST for one webhook; our headers win over configured ones. @throws RangeError when there is no such webhook. */
export function request(posting: Posting, { destination, urlIndex, attempt, now }: RequestOf): Request {
  const settings = prepared(destination)
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

/** While a rotation lasts the previous secret signs too, so that a receiver may change its own at any moment of it. */
const olderKeys = ({ keys, previous }: Prepared, now: number): SecretKeys | undefined =>
  keys && previous && now < previous.until ? previous.keys : undefined

function sign(
  headers: Record<string, string>,
  { deliveryId, body }: Posting,
  { settings, older, now }: { settings: Prepared; older: SecretKeys | undefined; now: number },
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

/** Client-made ids may hold what a header cannot: percent-encoded then. */
function headerSafe(id: string): string {
  return /^[\x20-\x7e]+$/.test(id) && id === id.trim() ? id : encodeURIComponent(id.toWellFormed())
}
