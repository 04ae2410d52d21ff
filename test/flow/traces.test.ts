import got from 'got'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEAD, DELIVERIES, EVENTS } from '../../schemas/topics.ts'
import { readAll } from '../helpers/cluster.ts'
import { type Collector, type Span, startCollector } from '../helpers/collector.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const roles = ['ingest', 'router', 'deliverer', 'control'] as const
const CLIENT = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) }

let collector: Collector
let receiver: Receiver
let sluice: System
beforeAll(async () => {
  collector = await startCollector()
  receiver = await startReceiver()
  sluice = await startSystem({
    RETRY_LADDER: '100ms',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_BSP_MAX_QUEUE_SIZE: '256',
  })
})
afterAll(async () => {
  await Promise.all([sluice?.close(), receiver?.close(), collector?.close()])
})

/** The client traces too, and wants all of it sampled. */
const track = (messageId: string) =>
  got.post(`${sluice.ingest}/v1/track?campaign=of-the-query`, {
    username: 'shop-write-key',
    headers: { traceparent: `00-${CLIENT.traceId}-${CLIENT.spanId}-01` },
    json: { messageId, userId: 'the-user', event: 'Paid the bill', properties: { card: 'the-card' } },
    retry: { limit: 0 },
  })

const about = (messageId: string) => (span: Span) => span.attributes['sluice.message.id'] === messageId
const spanWhere = (is: (span: Span) => boolean) => until(() => collector.spans.find(is))

/** The span and its causes, back to the first. */
const causes = (last: Span): Promise<Span[]> =>
  until(() => {
    const all = [last]
    for (let at: Span | undefined = last; at?.parentSpanId; ) {
      const { parentSpanId }: Span = at
      at = collector.spans.find(({ spanId }) => spanId === parentSpanId)
      if (!at) return undefined
      all.push(at)
    }
    return all
  })

const named = (spans: readonly Span[]) =>
  spans.map(({ service, name }) => `${service}: ${name.replace(sluice.connection.named(''), '')}`)

test('one trace leads from the request to the POST, even over a retry', async () => {
  await sluice.destination('crm', [`${receiver.url}/flaky/1/secret-of-the-path?token=secret-of-the-query`])
  await track('retried')
  const second = (span: Span) => span.attributes['http.request.resend_count'] === 1
  const chain = await causes(await spanWhere(second))
  expect(named(chain.toReversed())).toEqual([
    'sluice-ingest: POST /v1/track',
    'sluice-ingest: send events',
    'sluice-router: process events',
    'sluice-router: send deliveries',
    'sluice-deliverer: process deliveries',
    'sluice-deliverer: send deliveries.retry.100ms',
    'sluice-deliverer: process deliveries.due',
    'sluice-deliverer: POST',
  ])
  expect(new Set(chain.map(({ traceId }) => traceId)).size).toBe(1)
  const [post] = chain
  const first = await spanWhere(
    ({ name, traceId, spanId }) => name === 'POST' && traceId === post?.traceId && spanId !== post.spanId,
  )
  expect(first).toMatchObject({
    status: 2,
    parentSpanId: chain.at(-5)?.spanId,
    attributes: { 'http.response.status_code': 503, 'error.type': '503', 'sluice.code': 'http_5xx' },
  })
  expect(post).toMatchObject({
    status: 0,
    attributes: {
      'http.response.status_code': 200,
      'sluice.outcome': 'delivered',
      'server.address': '127.0.0.1',
    },
  })
})

test("the client's trace is a link, and decides nothing", async () => {
  const request = await spanWhere(({ name }) => name === 'POST /v1/track')
  expect(request.links).toMatchObject([CLIENT])
  expect(request.traceId).not.toBe(CLIENT.traceId)
})

test('webhooks receive no trace headers', () => {
  const names = receiver.arrivals.flatMap(({ headers }) => Object.keys(headers))
  expect(names).toContain('x-delivery-id')
  expect(names).not.toContain('traceparent')
  expect(names).not.toContain('tracestate')
})

test('exported spans contain no users, keys, queries or paths', () => {
  const exported = collector.bodies.join()
  expect(exported).toContain('retried')
  for (const secret of [
    'the-user',
    'the-card',
    'Paid the bill',
    'shop-write-key',
    'of-the-query',
    'secret-of',
  ])
    expect(exported).not.toContain(secret)
})

test('a replay of a dead letter begins a trace with a link to the earlier one', async () => {
  await sluice.destination('down', [`${receiver.url}/status/500`])
  await track('given-up')
  const dead = await until(async () => (await readAll(sluice.connection, DEAD))[0])
  const [, traceId, spanId] = dead.headers.traceparent?.split('-') ?? []
  const gaveUp = await spanWhere((span) => about('given-up')(span) && span.status === 2)
  expect(gaveUp).toMatchObject({ traceId, attributes: { 'error.type': 'attempts_exhausted' } })
  const { status } = await sluice.api('post', 'replays', { destinationId: 'down' })
  expect(status).toBe(202)
  const again = await spanWhere(({ links }) => links.some((link) => link.spanId === spanId))
  expect(named([again])).toEqual(['sluice-control: process deliveries.dead'])
  expect(again.parentSpanId ?? '').toBe('')
  const posted = await spanWhere(({ name, traceId: of }) => name === 'POST' && of === again.traceId)
  expect(named(await causes(posted))).toContain('sluice-control: send deliveries.due')
})

test('while the collector does not answer, events still flow, and processes shut down cleanly', async () => {
  for (const id of ['crm', 'down']) await sluice.api('delete', `destinations/${id}`)
  await sluice.destination('ok', [`${receiver.url}/ok`])
  collector.hang()
  // more than the queue holds
  const calls = Array.from({ length: 600 }, (_, each) => ({
    type: 'track',
    userId: `u${each}`,
    event: 'Paid',
    messageId: `unseen-${each}`,
  }))
  await sluice.send(calls.slice(0, 300))
  await sluice.send(calls.slice(300))
  const wanted = calls.map(({ messageId }) => messageId)
  await until(() => {
    const seen = new Set(receiver.arrivals.map(({ headers }) => headers['x-message-id']))
    return wanted.every((id) => seen.has(id))
  })
  expect(await Promise.all(roles.map(sluice.stop))).toEqual([0, 0, 0, 0])
})

test('when off, nothing is exported and records have no extra header', async () => {
  delete sluice.env.OTEL_EXPORTER_OTLP_ENDPOINT
  const before = collector.bodies.length
  await Promise.all(roles.map(sluice.start))
  await track('untraced')
  await until(() => receiver.arrivals.some(({ headers }) => headers['x-message-id'] === 'untraced'))
  const [events, deliveries] = await Promise.all(
    [EVENTS, DELIVERIES].map((it) => readAll(sluice.connection, it)),
  )
  const event = events?.find(({ headers }) => headers.messageId === 'untraced')
  expect(event?.headers).toEqual({ messageId: 'untraced' })
  expect(deliveries?.filter(({ headers }) => Object.keys(headers).length === 0)).toHaveLength(1)
  expect(collector.bodies).toHaveLength(before)
})
