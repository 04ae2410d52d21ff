import { createHmac } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import type { Attempt } from '../../schemas/attempt.ts'
import { DEAD, EVENTS } from '../../schemas/topics.ts'
import { EVENT_TYPES } from '../../settings/settings.ts'
import { type Control, startControl } from '../control/process.ts'
import { aCertificate, hasOpenssl, tlsReceiver } from '../helpers/certificate.ts'
import { readAll } from '../helpers/cluster.ts'
import { readAttempts, readDeliveries } from '../helpers/decoded.ts'
import { afterRequest } from '../helpers/raw-receiver.ts'
import { type Arrival, type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

/** A receiver may have to wait for a core. */
const LIMIT_MS = 6_000

type Result = { url: string; sent: boolean } & Pick<
  Attempt,
  'outcome' | 'status' | 'durationMs' | 'code' | 'response'
> & {
    request: { headers: Record<string, string>; body: string }
    responseHeaders: Record<string, string> | null
  }

let receiver: Receiver
let sluice: System
let seen = 0

beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem({ RESPONSE_TIMEOUT: `${LIMIT_MS}ms` })
})
afterAll(async () => {
  await Promise.all([sluice?.close(), receiver?.close()])
})

/** Another control process of the same system, until the test is over. */
async function another(settings: Record<string, string>): Promise<Control> {
  const control = startControl({
    kafkaBrokers: inject('kafkaBrokers'),
    registryUrl: inject('registryUrl'),
    topicPrefix: sluice.env.TOPIC_PREFIX ?? '',
    key: Buffer.from(sluice.env.CONFIG_KEY ?? '', 'base64'),
    settings,
  })
  onTestFinished(async () => void (await control.stop()))
  await control.ready()
  return control
}

let made = 0
/** A destination of no source. @returns the path of its tests */
async function destination(urls: string[], more: object = {}): Promise<string> {
  const id = `tested-${made++}`
  const webhooks = urls.map((url) => ({ url, headers: { 'X-Team': 'crm' } }))
  const { status } = await sluice.api('post', 'destinations', { id, name: id, webhooks, ...more })
  expect(status).toBe(201)
  return `destinations/${id}/test`
}

/** Sends a test. @returns the results by webhook */
async function sent(path: string, body: object = {}): Promise<Result[]> {
  const { status, body: answer } = await sluice.api('post', path, body)
  expect(status).toBe(200)
  return (answer as { results: Result[] }).results
}

const arrivalsAt = (path: string) => receiver.arrivals.filter((arrival) => arrival.path === path)
const place = (instruction = 'any') => `/${instruction}/?${seen++}`

/** As a receiver recomputes it. */
const recomputed = ({ body }: Arrival, secret: string) =>
  createHmac('sha1', secret)
    .update(JSON.stringify(JSON.parse(body)))
    .digest('hex')

describe('a test send', () => {
  test('posts a signed sample with the configured headers, and returns the response', async () => {
    const path = place('status/404')
    const url = `${receiver.url}${path}`
    const [result] = await sent(await destination([url], { sharedSecret: 's3cret' }))
    expect(result).toEqual({
      url,
      outcome: 'rejected',
      status: 404,
      durationMs: expect.any(Number),
      code: 'http_404',
      response: 'answered 404',
      responseHeaders: expect.objectContaining({ connection: 'keep-alive', date: expect.any(String) }),
      sent: true,
      request: expect.any(Object),
    })
    const [arrival, ...others] = arrivalsAt(path)
    if (!arrival || !result) throw new Error('nothing has come')
    expect(others).toEqual([])
    // all, in order, except the configured value
    const shown = Object.entries(result.request.headers).map(([name, value]) => [name.toLowerCase(), value])
    expect(shown).toEqual(Object.entries({ ...arrival.headers, 'x-team': '***' }))
    expect(result.request.body).toBe(arrival.body)
    expect(arrival.headers).toMatchObject({
      'user-agent': 'Sluice/1.0',
      'content-type': 'application/json',
      'x-team': 'crm',
      'x-attempt': '1',
      'x-signature': recomputed(arrival, 's3cret'),
    })
    expect(arrival.headers['x-message-id']).toMatch(/^test-/)
    expect(JSON.parse(arrival.body)).toMatchObject({ type: 'track', userId: 'test-user' })
  })

  test.each(EVENT_TYPES)('of type %s has a valid signature too', async (type) => {
    const path = place()
    await sent(await destination([`${receiver.url}${path}`], { sharedSecret: 'sécret' }), { type })
    const [arrival] = arrivalsAt(path)
    expect(arrival && JSON.parse(arrival.body).type).toBe(type)
    expect(arrival?.headers['x-signature']).toBe(arrival && recomputed(arrival, 'sécret'))
  })

  test('signs with both secrets during a rotation, and as Standard Webhooks if enabled', async () => {
    const path = place()
    const [older, newer] = ['older', 'newer'].map(
      (text) => `whsec_${Buffer.from(text.repeat(5)).toString('base64')}`,
    )
    const previousSecretExpiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const secrets = { sharedSecret: newer, previousSecret: older, previousSecretExpiresAt }
    await sent(await destination([`${receiver.url}${path}`], { ...secrets, standardWebhooks: true }))
    const [arrival] = arrivalsAt(path)
    if (!arrival) throw new Error('nothing has come')
    expect(arrival.headers).toMatchObject({
      'x-signature': recomputed(arrival, newer ?? ''),
      'x-signature-previous': recomputed(arrival, older ?? ''),
      'webhook-id': arrival.headers['x-delivery-id'],
    })
    const headers = Object.fromEntries(
      Object.entries(arrival.headers).map(([name, text]) => [name, String(text)]),
    )
    for (const secret of [older, newer])
      expect(() => new Webhook(secret ?? '').verify(arrival.body, headers)).not.toThrow()
  })

  test('goes to a disabled destination, and is a new delivery each time', async () => {
    const path = place()
    const test = await destination([`${receiver.url}${path}`], { enabled: false })
    for (let time = 1; time <= 2; time++) expect(await sent(test)).toMatchObject([{ outcome: 'delivered' }])
    expect(new Set(arrivalsAt(path).map(({ headers }) => headers['x-delivery-id'])).size).toBe(2)
  })

  test('posts to every webhook, whatever the others do, and never retries', async () => {
    const paths = [place('status/503'), place(), place('reset'), place('status/302')]
    const urls = paths.map((path) => `${receiver.url}${path}`)
    expect(await sent(await destination(urls))).toMatchObject([
      { url: urls[0], outcome: 'retry', status: 503, code: 'http_5xx', response: 'answered 503' },
      { url: urls[1], outcome: 'delivered', status: 200, code: null, response: 'ok' },
      { url: urls[2], outcome: 'retry', status: null, code: 'ECONNRESET', response: null },
      { url: urls[3], outcome: 'rejected', status: 302, code: 'http_302' },
    ])
    for (const path of paths) expect(arrivalsAt(path)).toHaveLength(1)
  })

  test('returns the first KB of the response, without a partial character', async () => {
    const url = await afterRequest((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${'€'.repeat(1_600)}`),
    )
    const [result] = await sent(await destination([url]))
    expect(result?.response).toBe('€'.repeat(341))
  })

  test('ends at RESPONSE_TIMEOUT for a webhook that hangs, with the answers of the others', async () => {
    const [silent, good] = [place('hang'), place()]
    const results = await sent(await destination([`${receiver.url}${silent}`, `${receiver.url}${good}`]))
    expect(results).toMatchObject([
      { outcome: 'retry', status: null, code: 'timeout', response: null },
      { outcome: 'delivered', status: 200, code: null },
    ])
    expect(results[0]?.durationMs).toBeGreaterThanOrEqual(LIMIT_MS - 5)
    expect(results[0]?.durationMs).toBeLessThan(LIMIT_MS * 3)
    expect(results[1]?.durationMs).toBeLessThan(LIMIT_MS)
  })

  test('names a refused connection and a name without an address', async () => {
    const gone = await startReceiver()
    await gone.close()
    const results = await sent(await destination([gone.url, 'http://nowhere.invalid/']))
    expect(results).toMatchObject([
      { outcome: 'retry', status: null, code: 'ECONNREFUSED', sent: false, responseHeaders: null },
      { outcome: 'retry', sent: false },
    ])
    // whether a name server answers is up to the machine
    expect(results[1]?.code).toMatch(/^(E[A-Z]+|dns_timeout)$/)
  })

  test('shows URLs as the settings do, and closes its connection', async () => {
    let closed = false
    const url = await afterRequest((socket) => {
      socket.on('close', () => {
        closed = true
      })
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
    const path = await destination([`${url}?token=abc`])
    const { body } = await sluice.api('get', path.replace(/\/test$/, ''))
    expect((await sent(path)).map((result) => result.url)).toEqual(
      (body.webhooks as { url: string }[]).map((webhook) => webhook.url),
    )
    await until(() => closed)
  })
})

describe('has the egress rules and roots of deliveries', () => {
  test('a forbidden address is refused without a connection', async () => {
    const path = place()
    const test = await destination([
      `${receiver.url}${path}`,
      `http://localhost:${new URL(receiver.url).port}${path}`,
    ])
    const strict = await another({ EGRESS_ALLOW: '' })
    const refused = {
      outcome: 'refused',
      status: null,
      code: 'address_forbidden',
      response: null,
      sent: false,
    }
    expect(await strict.ask('POST', `/api/${test}`, { body: {} })).toMatchObject({
      status: 200,
      json: { results: [refused, refused] },
    })
    expect(arrivalsAt(path)).toEqual([])
  })

  test.skipIf(!hasOpenssl)(
    'a self-signed certificate is refused; a root in EGRESS_CA is trusted',
    async () => {
      const own = await aCertificate({ names: 'IP:127.0.0.1', days: [-1, 1], selfSigned: true })
      const signed = await aCertificate({ names: 'IP:127.0.0.1', days: [-1, 1], selfSigned: false })
      const receivers = [await tlsReceiver(own), await tlsReceiver(signed)]
      const test = await destination(receivers.map(({ url }) => url))
      const refused = (code: string) => ({ outcome: 'refused', status: null, code })
      expect(await sent(test)).toMatchObject([refused('tls_self_signed'), refused('tls_untrusted')])
      const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
      onTestFinished(() => rm(folder, { recursive: true, force: true }))
      await writeFile(join(folder, 'ca.pem'), signed.root)
      const trusting = await another({ EGRESS_ALLOW: '127.0.0.0/8', EGRESS_CA: join(folder, 'ca.pem') })
      expect(await trusting.ask('POST', `/api/${test}`, { body: {} })).toMatchObject({
        json: { results: [refused('tls_self_signed'), { outcome: 'delivered', status: 200 }] },
      })
      expect(receivers.map(({ requests }) => requests())).toEqual([0, 1])
    },
  )
})

test('a process that ends answers pending tests at once, and shuts down cleanly', async () => {
  const path = place('hang')
  const test = await destination([`${receiver.url}${path}`])
  const control = await another({ EGRESS_ALLOW: '127.0.0.0/8', RESPONSE_TIMEOUT: '1m' })
  const answer = control.ask('POST', `/api/${test}`, { body: {} })
  await until(() => arrivalsAt(path).length === 1)
  const endedAt = performance.now()
  expect(await control.stop()).toMatchObject({ code: 0 })
  expect(performance.now() - endedAt).toBeLessThan(30_000)
  expect(await answer).toMatchObject({
    status: 200,
    json: { results: [{ outcome: 'retry', code: 'aborted' }] },
  })
})

describe('compared with real deliveries', () => {
  const paths = new Map(EVENT_TYPES.map((type) => [type, `/real/${type}`]))
  const sixTypes = EVENT_TYPES.filter((type) => type !== 'delete')

  test.each(sixTypes)(
    'a sample of type %s equals the delivery of the same call through ingest',
    async (type) => {
      const path = paths.get(type) ?? ''
      const id = `real-${type}`
      await sluice.destination(id, [`${receiver.url}${path}`], { eventTypes: [type], sharedSecret: 's3cret' })
      await sent(`destinations/${id}/test`, { type })
      const [sample] = arrivalsAt(path)
      const {
        version: _,
        'Previous ID': previousId,
        'User ID': user,
        ...call
      } = JSON.parse(sample?.body ?? '{}')
      // a retry has the same id, as the same call
      await sluice.send([{ ...call, messageId: id, ...(user && { previousId, userId: user }) }])
      const real = await until(() => arrivalsAt(path).find(({ headers }) => headers['x-message-id'] === id))
      expect(real.body).toBe(sample?.body)
      expect(Object.keys(real.headers).sort()).toEqual(Object.keys(sample?.headers ?? {}).sort())
      expect(real.headers['x-signature']).toBe(sample?.headers['x-signature'])

      // as a search shows it
      const found = await until(async () => {
        const { body } = await sluice.api('get', `events?messageId=${id}`)
        return (body.items as { call: object }[])[0]
      })
      await sent(`destinations/${id}/test`, { call: found.call })
      const [, again] = arrivalsAt(path).filter(({ headers }) => headers['x-message-id'] !== id)
      expect(again?.body).toBe(real.body)
    },
  )

  test('no test send is in Kafka', async () => {
    // a record of a test would precede these. On a busy machine, a call or a delivery may be sent again
    const real = new Set(sixTypes.map((type) => `real-${type}`))
    const idsOf = (records: readonly { messageId?: string }[]) =>
      new Set(records.map(({ messageId }) => messageId))
    const ofAttempts = await until(async () => {
      const ids = idsOf(await readAttempts(sluice))
      return ids.size >= real.size && ids
    })
    expect(ofAttempts).toEqual(real)
    expect(idsOf(await readDeliveries(sluice))).toEqual(real)
    const events = await readAll(sluice.connection, EVENTS)
    expect(idsOf(events.map(({ headers }) => headers))).toEqual(real)
    expect(await readAll(sluice.connection, DEAD)).toEqual([])
  })
})
