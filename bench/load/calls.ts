import { randomUUID } from 'node:crypto'
import type { Event } from '../../schemas/event.ts'
import type { LoadOptions } from './start.ts'

const USERS = 1_000

/** 1 KB, as a shop's browser library sends it. */
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

/** One call of each of many users. */
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

/** A request on the wire. `idsAt`: where the ids of its calls are. */
export type Prepared = { bytes: Buffer; idsAt: readonly number[] }

const DIGITS = 10
const MESSAGE_ID = '"messageId":"'
const UNNUMBERED = '0'.repeat(DIGITS)

/** `before`: the text before each id. */
type Form = (body: string, key: string) => { headers: readonly string[]; body: string; before: string }

/** The topic or event type of all calls. */
export const EVENT_TYPE = 'track'

const basic = (key: string) => `Authorization: Basic ${Buffer.from(`${key}:`).toString('base64')}`

const FORMS = {
  sluice: (body, key) => ({ headers: [basic(key)], body, before: MESSAGE_ID }),
  /** Like a delivery: the number is in a header. */
  webhook: (body, key) => {
    const before = 'X-Message-Id: '
    return { headers: [basic(key), `${before}${UNNUMBERED}`], body, before }
  },
  /** The key is the tenant's id. Ids are new in each run: Outpost drops those it has seen. */
  outpost: (body, key) => ({
    headers: [],
    body: `{"id":"${UNNUMBERED}-${randomUUID()}","tenant_id":"${key}","topic":"${EVENT_TYPE}","data":${body}}`,
    before: '{"id":"',
  }),
  /** The key is the application's id, in the path. */
  svix: (body) => ({
    headers: [],
    body: `{"eventType":"${EVENT_TYPE}","payload":${body}}`,
    before: MESSAGE_ID,
  }),
  /** The key is the endpoint's id. */
  convoy: (body, key) => ({
    headers: [],
    body: `{"endpoint_id":"${key}","event_type":"${EVENT_TYPE}","custom_headers":{"x-message-id":"${UNNUMBERED}"},"data":${body}}`,
    before: '"x-message-id":"',
  }),
} satisfies Record<string, Form>

export type Target = keyof typeof FORMS

/** Of a peer. `{key}` in the path stands for the call's key. */
export type Access = { path: string; authorization: string }

/** @param batch calls in a request */
export function pathOf(target: Target, batch = 1): string {
  if (target === 'sluice') return batch === 1 ? '/v1/track' : '/v1/batch'
  return '/'
}

/** Of many users, with the keys in turn. */
export function prepareRequests(options: LoadOptions): Prepared[] {
  const { url, path, authorization, keys, batch, target } = options
  const { hostname } = new URL(url)
  return bodies(batch).map((content, index) => {
    const key = keys[index % keys.length] ?? ''
    const { headers, body, before } = FORMS[target](content, key)
    const head = [
      ...[`POST ${path.replace('{key}', key)} HTTP/1.1`, `Host: ${hostname}`, ...headers],
      ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
      ...['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`],
    ]
    const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
    return { bytes, idsAt: positionsAfter(bytes, before).slice(0, batch) }
  })
}

function positionsAfter(bytes: Buffer, text: string): number[] {
  const found: number[] = []
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) found.push(at + text.length)
  return found
}

/** Each call gets an id of the same length that begins with its number. */
export function putNumbers({ bytes, idsAt }: Prepared, first: number): void {
  for (const [index, at] of idsAt.entries())
    bytes.write(String(first + index).padStart(DIGITS, '0'), at, 'latin1')
}

export const numberIn = (id: string) => Number(id.slice(0, DIGITS))

/** @param start of a body. The first `messageId` in it is the call's. */
export const numberInBody = (start: Buffer) =>
  numberIn(start.toString('latin1', start.indexOf(MESSAGE_ID) + MESSAGE_ID.length))
