import { createHmac } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import got from 'got'
import { describe, expect, test } from 'vitest'
import { openCodec, openRegistry } from '../../../schemas/registry.ts'
import { readAll } from '../../helpers/cluster.ts'
import { readDeliveries } from '../../helpers/decoded.ts'
import { afterRequest } from '../../helpers/raw-receiver.ts'
import { aReceiver } from '../../helpers/system.ts'
import { until } from '../../helpers/until.ts'
import { describedMetrics } from '../../ops/metric-names.ts'
import { sluice } from './system.ts'

const track = (messageId: string, more: object = {}) => ({
  type: 'track',
  userId: 'u1',
  event: 'Paid',
  messageId,
  timestamp: '2026-01-02T03:04:05.006Z',
  ...more,
})
/** As Python and PHP spell JSON. */
const inAscii = (text: string) =>
  text.replace(/[^ -~]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)

async function source(id: string): Promise<(calls: object[]) => Promise<void>> {
  await sluice.api('post', 'sources', { id, name: id, writeKey: `${id}-write-key` })
  return (calls) => sluice.send(calls, `${id}-write-key`)
}

/**
 * Answers 503, the second time when the test says so. Settings have changed by then; the next rungs leave 2 s to
 * follow.
 */
async function aRefuser() {
  const answer = 'HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
  let attempts = 0
  let held: Socket | undefined
  const url = await afterRequest((socket) => {
    attempts += 1
    if (attempts === 2) held = socket
    else socket.end(answer)
  })
  return { url, attempts: () => attempts, holds: () => held !== undefined, letGo: () => held?.end(answer) }
}

describe('a call', () => {
  test('of each type arrives with its body, signed', async () => {
    const receiver = await aReceiver()
    const send = await source('six')
    await sluice.destination('six', [`${receiver.url}/`], { sourceIds: ['six'], sharedSecret: 'sécret' })
    const at = { timestamp: '2026-01-02T03:04:05.006Z' }
    await send([
      {
        type: 'page',
        userId: 'u1',
        properties: { path: '/', referrer: '', title: 'T', url: 'https://x.example/' },
        ...at,
      },
      { type: 'screen', userId: 'u1', name: 'Home', context: { os: { name: 'iOS', version: '9' } }, ...at },
      { type: 'identify', userId: 'u1', traits: { name: 'Ann', age: 41 }, ...at },
      { type: 'track', userId: 'u1', event: 'Paid', properties: { total: '1.50' }, ...at },
      { type: 'alias', userId: 'u1', previousId: 'a1', ...at },
      { type: 'group', userId: 'u1', groupId: 'g1', traits: { 'Company Name': 'Acme' }, ...at },
    ])
    await until(() => receiver.arrivals.length === 6)
    expect(receiver.arrivals.map(({ body }) => body).toSorted()).toEqual(
      [
        '{"version":1,"type":"page","userId":"u1","properties":{"path":"/","referrer":"","title":"T","url":"https://x.example/"},"timestamp":"2026-01-02T03:04:05.006Z","context":{}}',
        '{"version":1,"type":"screen","userId":"u1","name":"Home","timestamp":"2026-01-02T03:04:05.006Z","context":{"os":{"name":"iOS","version":"9"}}}',
        '{"version":1,"type":"identify","userId":"u1","traits":{"name":"Ann","age":41},"timestamp":"2026-01-02T03:04:05.006Z","context":{}}',
        '{"version":1,"type":"track","userId":"u1","event":"Paid","properties":{"total":"1.50"},"timestamp":"2026-01-02T03:04:05.006Z","context":{}}',
        '{"version":1,"type":"alias","Previous ID":"a1","User ID":"u1","timestamp":"2026-01-02T03:04:05.006Z","context":{}}',
        '{"version":1,"type":"group","groupId":"g1","userId":"u1","traits":{"Company Name":"Acme"},"timestamp":"2026-01-02T03:04:05.006Z","context":{}}',
      ].toSorted(),
    )
    for (const { body, headers } of receiver.arrivals) {
      expect(headers).toMatchObject({
        'user-agent': 'Sluice/1.0',
        'content-type': 'application/json',
        'x-attempt': '1',
      })
      expect(headers['x-signature']).toBe(
        createHmac('sha1', 'sécret')
          .update(JSON.stringify(JSON.parse(body)))
          .digest('hex'),
      )
    }
  })

  test('arrives with the names and values that were sent, however they are spelled, and whatever came before', async () => {
    const receiver = await aReceiver()
    await source('odd')
    await sluice.destination('odd', [`${receiver.url}/`], { sourceIds: ['odd'] })
    // names that V8 confuses (nodejs/node#63785)
    const name = fc.string({
      unit: fc.constantFrom('\\', 'u', '0', '"', '\n', 'é', '名', '\x7f', 'a'),
      maxLength: 4,
    })
    const properties = fc.sample(fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5 }), 200)
    const sent = properties.map((each) => JSON.stringify(each))
    for (const [index, text] of sent.entries()) {
      const spelled = index % 2 === 0 ? text : inAscii(text)
      const body = `{"writeKey":"odd-write-key","userId":"u1","event":"Odd","properties":${spelled}}`
      await got.post(`${sluice.ingest}/v1/track`, { body, headers: { 'content-type': 'application/json' } })
    }
    await until(() => receiver.arrivals.length === sent.length)
    // the receiver's own JSON.parse could confuse them
    const arrived = receiver.arrivals.map(({ body }) => /"properties":(.*),"timestamp":/s.exec(body)?.[1])
    expect(arrived.toSorted()).toEqual(sent.toSorted())
  })

  test('goes to no destination that its Integrations object turns off', async () => {
    const receiver = await aReceiver()
    const send = await source('choosy')
    await sluice.destination('choosy', [`${receiver.url}/`], { sourceIds: ['choosy'] })
    await send([
      track('off', { integrations: { All: false } }),
      track('named', { integrations: { All: false, Webhooks: true } }),
      track('named-off', { context: { integrations: { Webhooks: false } } }),
      track('plain'),
    ])
    const ids = () => receiver.arrivals.map(({ headers }) => headers['x-message-id'])
    await until(() => ['named', 'plain'].every((id) => ids().includes(id)))
    // routed in order, but they arrive in any
    const made = (await readDeliveries(sluice)).filter(({ destinationId }) => destinationId === 'choosy')
    expect(made.map(({ messageId }) => messageId)).toEqual(['named', 'plain'])
  })
})

describe('a delivery', () => {
  test('that is answered with 5xx is retried with the same id and body until it succeeds', async () => {
    const receiver = await aReceiver()
    const send = await source('flaky')
    await sluice.destination('flaky', [`${receiver.url}/flaky/2`], { sourceIds: ['flaky'] })
    await send([track('m')])
    await until(() => receiver.arrivals.length === 3)
    const { arrivals } = receiver
    expect(arrivals.map(({ headers }) => headers['x-attempt'])).toEqual(['1', '2', '3'])
    expect(new Set(arrivals.map(({ headers, body }) => `${headers['x-delivery-id']} ${body}`)).size).toBe(1)
    expect((arrivals[1]?.at ?? 0) - (arrivals[0]?.at ?? 0)).toBeGreaterThanOrEqual(100)
  })

  test('is settled by any one webhook, and the others are not retried', async () => {
    const receiver = await aReceiver()
    const send = await source('several')
    await sluice.destination(
      'several',
      [`${receiver.url}/status/500`, `${receiver.url}/status/404`, `${receiver.url}/ok`],
      { sourceIds: ['several'] },
    )
    await send([track('m1'), track('m2')])
    await until(() => receiver.arrivals.length === 6)
    // by the third attempt of another delivery, a retry of these would have arrived
    await sluice.destination('several-after', [`${receiver.url}/flaky/2`], { sourceIds: ['several'] })
    await send([track('m3')])
    await until(() => receiver.arrivals.filter(({ path }) => path === '/flaky/2').length === 3)
    const first = () => receiver.arrivals.filter(({ path }) => path === '/status/500')
    await until(() => first().length >= 3)
    expect(first()).toHaveLength(3)
  })

  test('that always fails ends in deliveries.dead with its reason and every attempt', async () => {
    const receiver = await aReceiver()
    const send = await source('hopeless')
    await sluice.destination('hopeless', [`${receiver.url}/status/503`, 'http://127.0.0.1:1/'], {
      sourceIds: ['hopeless'],
    })
    await send([track('m')])
    const dead = async () =>
      (await readAll(sluice.connection, 'deliveries.dead')).filter(({ key }) => key === 'hopeless/u1')
    await until(async () => (await dead()).length === 1)
    const registry = openRegistry({ url: sluice.env.SCHEMA_REGISTRY_URL ?? '', auth: undefined })
    const codec = await openCodec(registry, 'delivery', sluice.connection.named('deliveries.dead-value'))
    const [record] = await dead()
    const decoded = await codec.decode(record?.value ?? null)
    expect(decoded).toMatchObject({ ok: true, value: { attempt: 4, deadReason: 'attempts_exhausted' } })
    const codes = decoded.ok ? decoded.value.history.map(({ code }) => code) : []
    expect(codes.toSorted()).toEqual([...Array(4).fill('ECONNREFUSED'), ...Array(4).fill('http_5xx')])
  })

  test('that waits on the ladder goes to a URL corrected meanwhile', async () => {
    const receiver = await aReceiver()
    const wrong = await aRefuser()
    const send = await source('moved')
    await sluice.destination('moved', [wrong.url], { sourceIds: ['moved'] })
    await send([track('m')])
    await until(wrong.holds)
    const { body } = await sluice.api('get', 'destinations/moved')
    const { id: _, version, updatedAt: __, ...replacement } = body
    const put = await sluice.api(
      'put',
      'destinations/moved',
      { ...replacement, webhooks: [{ url: `${receiver.url}/new` }] },
      { 'if-match': String(version) },
    )
    expect(put.status).toBe(200)
    wrong.letGo()
    await until(() => receiver.arrivals.some(({ path }) => path === '/new'))
  })

  test('for a destination deleted meanwhile is cancelled', async () => {
    const receiver = await aRefuser()
    const send = await source('gone')
    await sluice.destination('gone', [receiver.url], { sourceIds: ['gone'] })
    await send([track('m')])
    await until(receiver.holds)
    await sluice.api('delete', 'destinations/gone')
    receiver.letGo()
    const outcomes = async () =>
      (await readAll(sluice.connection, 'attempts'))
        .filter(({ key }) => key === 'gone')
        .map(({ value }) => value.toString('latin1'))
    await until(async () => (await outcomes()).some((text) => text.includes('destination_deleted')))
    expect(receiver.attempts()).toBeLessThan(4)
  })

  test('to an address that webhooks may no longer reach is dead at once, without a request', async () => {
    const send = await source('metadata')
    await sluice.destination('metadata', ['http://[::1]:9/'], { sourceIds: ['metadata'] })
    // allowed when it was saved
    await sluice.stop('deliverer')
    sluice.env.EGRESS_ALLOW = '127.0.0.0/8'
    await sluice.start('deliverer')
    await send([track('m')])
    const dead = async () =>
      (await readAll(sluice.connection, 'deliveries.dead')).find(({ key }) => key === 'metadata/u1')
    expect((await until(dead)).headers.reason).toBe('refused')
  })
})

test.each(['ingest', 'control'] as const)(
  'connections wait for a busy process in a queue of the kernel, which drops none of 800: %s',
  async (role) => {
    const { hostname, port } = new URL(sluice[role])
    const goOn = sluice.freeze(role)
    const sockets = Array.from({ length: 800 }, () => connect(Number(port), hostname))
    try {
      await until(() => sockets.every(({ readyState }) => readyState === 'open'))
    } finally {
      for (const socket of sockets) socket.destroy()
      goOn()
    }
  },
)

test('every metric is documented, and every documented metric exists', async () => {
  const ports = ['INGEST_METRICS_PORT', 'CONTROL_METRICS_PORT', 'ROUTER_PORT', 'DELIVERER_PORT']
  const pages = await Promise.all(
    ports.map((port) => got(`http://127.0.0.1:${sluice.env[port]}/metrics`).text()),
  )
  const isOurs = (name: string) => /^(sluice|kafka)_/.test(name)
  const told = pages.flatMap((page) => [...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  const described = [...(await describedMetrics())].filter(isOurs)
  expect([...new Set(told.filter(isOurs))].toSorted()).toEqual(described.toSorted())
})

test('who changed what is found newest first, by kind and id, page by page', async () => {
  const source = { id: 'audited', name: 'Audited' }
  await sluice.api('post', 'sources', source)
  await sluice.api('put', 'sources/audited', { name: 'Audited 2' }, { 'if-match': '1' })
  await sluice.api('delete', 'sources/audited')
  const read = async (query: string) => (await sluice.api('get', `audit?id=audited&${query}`)).body
  const outcomes = (body: Record<string, unknown>) =>
    (body.items as { outcome: string }[]).map(({ outcome }) => outcome)
  await until(async () => outcomes(await read('')).length === 3)
  const first = await read('what=source&limit=2')
  expect(outcomes(first)).toEqual(['removed', 'replaced'])
  expect(first.items).toMatchObject([
    { who: 'admin', by: 'bearer', what: 'source' },
    { version: 2, changes: { '/name': { from: 'Audited', to: 'Audited 2' } } },
  ])
  expect(outcomes(await read(`what=source&limit=2&cursor=${first.next}`))).toEqual(['created'])
  expect(await read('what=destination')).toMatchObject({ items: [], next: null })
})
