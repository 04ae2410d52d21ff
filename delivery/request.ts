import { perObject } from '../process/per-object.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Destination } from '../settings/settings.ts'
import { olderKeys, type Signing, sign, signingOf } from './signatures.ts'
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

/** `attempt`: from 1. `now`: ms since 1970. */
export type RequestOf = { destination: Destination; urlIndex: number; attempt: number; now: number }

/** Lower-case names of headers that we set on some POSTs. Settings accept none that we set on every POST. */
const REPLAY = new Set(['x-replay'])
const PREVIOUS = new Set(['x-signature-previous'])
const STANDARD = new Set(['webhook-id', 'webhook-timestamp', 'webhook-signature'])

/** Our headers win over configured ones. @throws RangeError without such a webhook. */
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

/** Percent-encodes an id with characters that headers cannot contain. */
function headerSafe(id: string): string {
  return /^[\x20-\x7e]+$/.test(id) && id === id.trim() ? id : encodeURIComponent(id.toWellFormed())
}

const USER_AGENT = 'Sluice/1.0'

export type Template = Signing & {
  webhooks: readonly { key: string; url: string; headers: Readonly<Record<string, string>> }[]
  retryOn: readonly number[]
}

const NONE: readonly number[] = []

/** Cached, because building it is expensive. A changed destination is another object. */
const templateOf = perObject((destination: Destination): Template => {
  const { webhooks, retryOn } = destination
  const signing = signingOf(destination)
  return {
    webhooks: webhooks.map(({ url, headers }, urlIndex) => ({
      key: webhookKey(destination.id, urlIndex, url),
      url,
      headers: {
        'User-Agent': USER_AGENT,
        'Content-Type': 'application/json',
        ...(signing.standardWebhooks ? without(headers, STANDARD) : headers),
      },
    })),
    ...signing,
    retryOn: retryOn ?? NONE,
  }
})

const without = (headers: Readonly<Record<string, string>>, names: ReadonlySet<string>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase())))
