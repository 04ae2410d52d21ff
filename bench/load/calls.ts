import type { Event } from '../../schemas/event.ts'
import type { LoadOptions } from './start.ts'

const USERS = 1_000

/** A 1 KB track call, as a shop's browser library sends it. */
function call(user: number) {
  return {
    type: 'track',
    messageId: `ajs-next-1764000000000-0b6f7d6e-7a53-${String(user).padStart(12, '0')}`,
    userId: `user-${user}`,
    anonymousId: '8c7e26c5-9a9c-4c3f-bb6b-2f9f4bfa7a7d',
    event: 'Order Completed',
    timestamp: '2026-01-02T03:04:05.678Z',
    sentAt: '2026-01-02T03:04:06.000Z',
    properties: {
      order_id: `o-${user}`,
      total: 99.95,
      shipping: 4.9,
      tax: 15.96,
      currency: 'EUR',
      coupon: null,
      first_order: false,
      products: [
        { product_id: 'p-4711', sku: 'A-1', name: 'Blue jumper', price: 45.5, quantity: 2 },
        { product_id: 'p-0815', sku: 'B-7', name: 'Wool socks', price: 8.95, quantity: 1 },
      ],
    },
    context: {
      library: { name: 'analytics.js', version: 'next-1.70.0' },
      page: { path: '/done', referrer: '', search: '', title: 'Thank you', url: 'https://shop.example/done' },
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36',
      locale: 'en-US',
      timezone: 'Europe/Berlin',
      campaign: { name: 'winter-sale', source: 'newsletter', medium: 'email', content: 'header' },
      screen: { width: 1920, height: 1080 },
    },
    integrations: {},
  }
}

/** One call from each of many users. */
export const calls = () => Array.from({ length: USERS }, (_, user) => call(user))

/** The calls as events, as ingest stores them. */
export const events = (): Event[] => calls().map(eventOf)

function eventOf(call: ReturnType<typeof calls>[number]): Event {
  return {
    messageId: '',
    sourceId: 'bench',
    type: 'track',
    userId: call.userId,
    anonymousId: call.anonymousId,
    event: call.event,
    name: null,
    category: null,
    groupId: null,
    previousId: null,
    properties: JSON.stringify(call.properties),
    traits: null,
    context: JSON.stringify(call.context),
    integrations: null,
    timestamp: Date.parse(call.timestamp),
    receivedAt: 0,
    sentAt: Date.parse(call.sentAt),
    originalTimestamp: Date.parse(call.timestamp),
  }
}

/** The calls as request bodies. `batch`: calls in each, 1 for single calls. */
export function bodies(batch: number): string[] {
  const all = calls()
  if (batch === 1) return all.map((one) => JSON.stringify(one))
  const groups = Array.from({ length: USERS / batch }, (_, group) =>
    all.slice(group * batch, (group + 1) * batch),
  )
  return groups.map((group) => JSON.stringify({ batch: group, sentAt: '2026-01-02T03:04:06.000Z' }))
}

/** The calls as the router renders them. */
export function deliveryBodies(): string[] {
  return Array.from({ length: USERS }, (_, user) => {
    const { type, userId, event, properties, timestamp, context } = call(user)
    return JSON.stringify({ version: 1, type, userId, event, properties, timestamp, context })
  })
}

/** A request as bytes on the wire. `idAt`: the position of the first call's messageId. */
export type Prepared = { bytes: Buffer; idAt: number }

const DIGITS = 10

/** Requests of many users, with the write keys in turn. */
export function prepareRequests({ url, path, writeKeys, batch, isStraight }: LoadOptions): Prepared[] {
  const { hostname } = new URL(url)
  return bodies(batch).map((body, index) => {
    const key = writeKeys[index % writeKeys.length]
    const authorization = `Basic ${Buffer.from(`${key}:`).toString('base64')}`
    const numbered = isStraight ? `\r\nX-Message-Id: ${'0'.repeat(DIGITS)}` : ''
    const head = `POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json${numbered}`
    const bytes = Buffer.from(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    const id = isStraight ? 'X-Message-Id: ' : '"messageId":"'
    return { bytes, idAt: bytes.indexOf(id) + id.length }
  })
}

/** Gives a single call a unique messageId that begins with its number and has the same length. */
export function putNumber({ bytes, idAt }: Prepared, call: number): void {
  bytes.write(String(call).padStart(DIGITS, '0'), idAt, 'latin1')
}

/** @returns the call's number. */
export const numberIn = (messageId: string) => Number(messageId.slice(0, DIGITS))
