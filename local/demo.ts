import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import got, { type Got } from 'got'
import { Analytics } from '../clients/node/index.ts'
import type { Addresses } from './addresses.ts'
import { type Arrival, startReceiver } from './demo-receiver.ts'
import type { Say } from './say.ts'

const CALLS = 6
const PATIENCE_MS = 20_000

/** `npm start -- --demo`: a source, a destination, a receiver that checks signatures, one call of each type, what arrived. */
export async function demo(addresses: Addresses, say: Say): Promise<void> {
  const secret = randomBytes(16).toString('hex')
  const arrivals: Arrival[] = []
  const receiver = await startReceiver(secret, (arrival) => arrivals.push(arrival))
  const api = got.extend({
    prefixUrl: `${addresses.control}/api`,
    headers: { authorization: `Bearer ${addresses.controlToken}` },
    retry: { limit: 0 },
  })
  const writeKey = await makeSource(api)
  await makeDestination(api, { url: receiver.url, secret })
  say.line(`demo: source "demo" forwards to ${receiver.url}; sending one call of each type ...`)

  await sendCalls(writeKey, addresses.ingest)
  for (const end = Date.now() + PATIENCE_MS; arrivals.length < CALLS && Date.now() < end; ) await sleep(20)
  for (const arrival of arrivals) say.line(describe(arrival))
  await receiver.close()
  say.line(
    arrivals.length === CALLS && arrivals.every(({ signatureIsRight }) => signatureIsRight)
      ? 'demo: all six arrived, each signed as it should be. Sluice goes on running; Ctrl-C ends it.'
      : `demo: ${arrivals.length} of ${CALLS} arrived within ${PATIENCE_MS / 1000} s; the log above says more.`,
  )
}

/** A second demo on the same data finds the source of the first. @returns its write key. */
async function makeSource(api: Got): Promise<string> {
  const found = await api.get('sources/demo', { throwHttpErrors: false, responseType: 'json' })
  const { body } =
    found.statusCode === 200
      ? found
      : await api.post('sources', { json: { id: 'demo', name: 'Demo' }, responseType: 'json' })
  return (body as { writeKey: string }).writeKey
}

/** The receiver's port is another each time, so an older demo's destination gives way. */
async function makeDestination(api: Got, { url, secret }: { url: string; secret: string }): Promise<void> {
  await api.delete('destinations/demo', { throwHttpErrors: false })
  const webhooks = [{ url, headers: { 'X-Team': 'demo' } }]
  await api.post('destinations', {
    json: { id: 'demo', name: 'Demo', sourceIds: ['demo'], sharedSecret: secret, webhooks },
  })
}

async function sendCalls(writeKey: string, endpoint: string): Promise<void> {
  const client = new Analytics({ writeKey, endpoint })
  const userId = 'user-1'
  client.identify({ userId, traits: { name: 'Ann', plan: 'pro' } })
  client.track({ userId, event: 'Order Paid', properties: { total: '12.50', currency: 'EUR' } })
  client.page({
    userId,
    name: 'Home',
    properties: { path: '/', url: 'https://shop.example/', title: 'Shop', referrer: '' },
  })
  client.screen({ userId, name: 'Basket' })
  client.group({ userId, groupId: 'acme', traits: { 'Company Name': 'Acme' } })
  client.alias({ userId, previousId: 'anonymous-1' })
  await client.close()
}

function describe({ type, body, headers, signatureIsRight }: Arrival): string {
  const signed = signatureIsRight ? 'signature right' : 'SIGNATURE WRONG'
  return `demo: ${type.padEnd(8)} ${signed}, delivery ${headers['x-delivery-id']}, attempt ${headers['x-attempt']}\n        ${body}`
}
