import { createHmac } from 'node:crypto'
import type { Delivery } from '../schemas/delivery.ts'
import type { Destination, Webhook } from '../schemas/settings.ts'

export const USER_AGENT = 'Sluice/1.0'

/** One POST as it goes out: header names as they are sent. */
export type Request = { urlIndex: number; url: string; headers: Record<string, string>; body: string }

/**
 * Lower-case hex HMAC-SHA1 of the body's bytes, keyed by the secret in UTF-8 (seed, "Authentication").
 */
export const signature = (body: string, secret: string) =>
  createHmac('sha1', secret).update(body).digest('hex')

/** @param attempt number of this attempt, from 1. @returns the POST for one webhook; our headers win over configured ones. */
export function request(
  delivery: Delivery,
  attempt: number,
  { destination, urlIndex }: { destination: Destination; urlIndex: number },
  webhook: Webhook,
): Request {
  const { sharedSecret } = destination
  const own = {
    'User-Agent': USER_AGENT,
    'Content-Type': 'application/json',
    ...(sharedSecret && { 'X-Signature': signature(delivery.body, sharedSecret) }),
    'X-Delivery-Id': delivery.deliveryId,
    'X-Message-Id': headerSafe(delivery.messageId),
    'X-Attempt': String(attempt),
    ...(delivery.replay && { 'X-Replay': 'true' }),
  }
  const taken = new Set(Object.keys(own).map((name) => name.toLowerCase()))
  const configured = Object.entries(webhook.headers).filter(([name]) => !taken.has(name.toLowerCase()))
  return {
    urlIndex,
    url: webhook.url,
    headers: { ...Object.fromEntries(configured), ...own },
    body: delivery.body,
  }
}

/** Client-made ids may hold what a header cannot: percent-encoded then (design: ingest, "Body"). */
function headerSafe(id: string): string {
  return /^[\x20-\x7e]+$/.test(id) && id === id.trim() ? id : encodeURIComponent(id.toWellFormed())
}
