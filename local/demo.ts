import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import got, { type Got } from 'got'
import { Analytics } from '../clients/node/index.ts'
import { LocalError } from './errors.ts'
import type { Addresses } from './settings.ts'
import type { Terminal } from './terminal.ts'

const CALLS = 6
const TIMEOUT_MS = 20_000

/**
 * Sends one call of each type through a new source and destination, and prints what arrives. The receiver answers until
 * the process ends.
 */
export async function demo(addresses: Addresses, terminal: Terminal): Promise<void> {
  const secret = randomBytes(16).toString('hex')
  const arrivals: Arrival[] = []
  const url = await startReceiver(secret, (arrival) => {
    if (arrivals.length < CALLS) arrivals.push(arrival)
  })
  const api = got.extend({
    prefixUrl: `${addresses.control}/api`,
    headers: { authorization: `Bearer ${addresses.controlToken}` },
    retry: { limit: 0 },
  })
  const writeKey = await makeSource(api)
  await makeDestination(api, { url, secret })
  terminal.line(`demo: source "demo" forwards to ${url}; sending one call of each type ...`)

  await sendCalls(writeKey, addresses.ingest)
  for (const end = Date.now() + TIMEOUT_MS; arrivals.length < CALLS && Date.now() < end; ) await sleep(20)
  for (const arrival of arrivals) terminal.line(describe(arrival))
  terminal.line(
    arrivals.length === CALLS && arrivals.every(({ signatureIsRight }) => signatureIsRight)
      ? 'demo: all six calls arrived with valid signatures. Sluice and this receiver keep running; press Ctrl-C to stop.'
      : `demo: ${arrivals.length} of ${CALLS} calls arrived within ${TIMEOUT_MS / 1000} s; see the log above.`,
  )
}

/** Reuses the source of an earlier demo. @returns its write key */
async function makeSource(api: Got): Promise<string> {
  const found = await api.get('sources/demo', { throwHttpErrors: false, responseType: 'json' })
  const { body } =
    found.statusCode === 200
      ? found
      : await api.post('sources', { json: { id: 'demo', name: 'Demo' }, responseType: 'json' })
  return (body as { writeKey: string }).writeKey
}

/** Replaces an earlier demo's destination, as the receiver's port is new. */
async function makeDestination(api: Got, { url, secret }: { url: string; secret: string }): Promise<void> {
  await api.delete('destinations/demo', { throwHttpErrors: false })
  const webhooks = [{ url, headers: { 'X-Team': 'demo' } }]
  const { statusCode, body } = await api.post('destinations', {
    json: { id: 'demo', name: 'Demo', sourceIds: ['demo'], sharedSecret: secret, webhooks },
    throwHttpErrors: false,
  })
  // EGRESS_ALLOW, EGRESS_DENY or EGRESS_PORTS may exclude the receiver
  if (statusCode !== 201)
    throw new LocalError('setting_invalid', `The demo could not create its destination (${url}): ${body}`)
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
  const signature = signatureIsRight ? 'signature valid' : 'SIGNATURE INVALID'
  return `demo: ${type.padEnd(8)} ${signature}, delivery ${headers['x-delivery-id']}, attempt ${headers['x-attempt']}\n        ${body}`
}

export type Arrival = { type: string; body: string; headers: IncomingHttpHeaders; signatureIsRight: boolean }

/** A receiver as a customer would write it: checks the signature over the body's bytes. @returns its URL */
export async function startReceiver(secret: string, onArrival: (arrival: Arrival) => void): Promise<string> {
  const server = createServer((request, response) => {
    arrivalOf(request, secret).then(
      (arrival) => {
        response.end()
        onArrival(arrival)
      },
      // the request was cut off, or is not from Sluice but from a browser, for example
      () => response.writeHead(400).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  server.unref()
  return `http://127.0.0.1:${port}/webhook`
}

async function arrivalOf(request: IncomingMessage, secret: string): Promise<Arrival> {
  const body = Buffer.concat(await request.toArray())
  const { type } = JSON.parse(body.toString())
  const signature = String(request.headers['x-signature'])
  return {
    type: String(type),
    body: body.toString(),
    headers: request.headers,
    signatureIsRight: isSignature(signature, body, secret),
  }
}

function isSignature(given: string, body: Buffer, secret: string): boolean {
  const expected = createHmac('sha1', secret).update(body).digest('hex')
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}
