import { expect, test } from 'vitest'
import { aRecord, aTracer, SAMPLED, UNSAMPLED } from './collected.ts'

const KINDS = { server: 1, client: 2, producer: 3, consumer: 4 }
const track = { method: 'POST', route: '/v1/track', traceparent: undefined }

test('one trace leads from the request to the POST, each span below its cause', async () => {
  const { tracer, ended } = aTracer()
  const request = tracer.request(track)
  const toEvents = request.send('events', 1)
  const routing = tracer.process({ ...aRecord(), headers: toEvents.headers })
  const toDeliveries = routing.send('deliveries', 1)
  const delivering = tracer.process({ ...aRecord(), topic: 'deliveries', headers: toDeliveries.headers })
  delivering.post({ origin: 'http://crm', urlIndex: 0, destinationId: 'crm', attempt: 1 })({
    outcome: 'delivered',
    status: 200,
    code: null,
  })
  delivering.end()
  toDeliveries.end('acked')
  routing.end()
  toEvents.end('acked')
  request.answered({ code: 'ok', status: 200 })
  const spans = (await ended()).toReversed()
  expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
    ['POST /v1/track', KINDS.server],
    ['send events', KINDS.producer],
    ['process p.events', KINDS.consumer],
    ['send deliveries', KINDS.producer],
    ['process deliveries', KINDS.consumer],
    ['POST', KINDS.client],
  ])
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(spans.map(({ parent }) => parent)).toEqual([
    undefined,
    ...spans.slice(0, -1).map(({ spanId }) => spanId),
  ])
})

test('a request has its route and result', async () => {
  const { tracer, ended } = aTracer()
  tracer.request(track).answered({ code: 'invalid_json', status: 400 })
  tracer.request({ ...track, route: '/v1/pixel/{type}', method: 'GET' }).answered({ code: 'ok', status: 200 })
  tracer.request(track).answered({ code: 'unavailable', status: 503 })
  const [refused, pixel, unavailable] = await ended()
  expect(refused).toMatchObject({ name: 'POST /v1/track', isError: false })
  expect(refused?.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/v1/track',
    'url.scheme': 'http',
    'url.path': '/v1/track',
    'http.response.status_code': 400,
    'sluice.code': 'invalid_json',
  })
  expect(pixel?.attributes).not.toHaveProperty('url.path')
  expect(unavailable).toMatchObject({ isError: true, attributes: { 'error.type': '503' } })
})

test('a request without an answer has failed, and so has one whose client is gone', async () => {
  const { tracer, ended } = aTracer()
  {
    using _ = tracer.request(track)
  }
  tracer.request(track).gone()
  const types = (await ended()).map(({ attributes, isError }) => [attributes['error.type'], isError])
  expect(types).toEqual([
    ['internal_error', true],
    ['client_gone', true],
  ])
})

test('a client decides neither the trace nor its sampling: its own trace is a link', async () => {
  const never = aTracer({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' })
  never.tracer.request({ ...track, traceparent: SAMPLED }).answered({ code: 'ok', status: 200 })
  expect(await never.ended()).toEqual([])
  const always = aTracer()
  always.tracer.request({ ...track, traceparent: UNSAMPLED }).answered({ code: 'ok', status: 200 })
  const [span] = await always.ended()
  expect(span).toMatchObject({ parent: undefined, links: [`${'a'.repeat(32)}-${'b'.repeat(16)}`] })
  expect(span?.traceId).not.toBe('a'.repeat(32))
})

test.each(['nonsense', '', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, ['a', 'b']])(
  'a traceparent of a client that is none, %j, is no link',
  async (traceparent) => {
    const { tracer, ended } = aTracer()
    tracer.request({ ...track, traceparent }).answered({ code: 'ok', status: 200 })
    expect(await ended()).toMatchObject([{ links: [] }])
  },
)

test('a long traceparent of a client becomes no link, which would keep all of it in memory', async () => {
  const { tracer, ended } = aTracer()
  const later = (rest: string) => `01-${'a'.repeat(32)}-${'b'.repeat(16)}-01-${rest}`
  for (const rest of ['x', 'x'.repeat(60_000)])
    tracer.request({ ...track, traceparent: later(rest) }).answered({ code: 'ok', status: 200 })
  expect((await ended()).map(({ links }) => links.length)).toEqual([1, 0])
})

test('an unsampled trace stays unsampled, and all of its records say so', async () => {
  const { tracer, ended } = aTracer()
  const routing = tracer.process(aRecord(UNSAMPLED))
  expect(routing.headers).toEqual({ traceparent: UNSAMPLED })
  expect(routing.send('deliveries', 1).headers).toEqual({ traceparent: UNSAMPLED })
  routing.post({ origin: 'http://crm', urlIndex: 0, destinationId: 'crm', attempt: 1 })({
    outcome: 'delivered',
    status: 200,
    code: null,
  })
  routing.end()
  expect(await ended()).toEqual([])
})

test('an unsampled request passes this on to later processes', async () => {
  const { tracer, ended } = aTracer({ OTEL_TRACES_SAMPLER: 'always_off' })
  using request = tracer.request(track)
  expect(request.send('events', 1).headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  expect(await ended()).toEqual([])
})

test('a sampler that ignores the parent decides again', async () => {
  const { tracer, ended } = aTracer({ OTEL_TRACES_SAMPLER: 'always_on' })
  tracer.process(aRecord(UNSAMPLED)).end()
  expect(await ended()).toMatchObject([{ traceId: 'a'.repeat(32), parent: 'b'.repeat(16) }])
})

test('with a ratio of one in a hundred, about one in a hundred traces is sampled', async () => {
  const { tracer, ended } = aTracer({
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.01',
    OTEL_BSP_MAX_QUEUE_SIZE: '10000',
  })
  for (let each = 0; each < 20_000; each++) tracer.request(track).answered({ code: 'ok', status: 200 })
  const { length } = await ended()
  expect(length).toBeGreaterThan(100)
  expect(length).toBeLessThan(300)
})

test('a record without a trace starts one', async () => {
  const { tracer, ended } = aTracer()
  tracer.process({ ...aRecord(), describe: () => ({ 'sluice.message.id': 'm1' }) }).end()
  const [span] = await ended()
  expect(span).toMatchObject({ name: 'process p.events', parent: undefined })
  expect(span?.attributes).toEqual({
    'messaging.system': 'kafka',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'p.events',
    'messaging.consumer.group.name': 'p.router',
    'messaging.destination.partition.id': '3',
    'messaging.kafka.offset': 42,
    'sluice.message.id': 'm1',
  })
})

test('a replay is a separate trace with a link to the earlier one', async () => {
  const { tracer, ended } = aTracer()
  tracer.processLinked(aRecord(UNSAMPLED)).end()
  tracer.processLinked(aRecord()).end()
  const [linked, alone] = await ended()
  expect(linked).toMatchObject({ parent: undefined, links: [`${'a'.repeat(32)}-${'b'.repeat(16)}`] })
  expect(linked?.traceId).not.toBe('a'.repeat(32))
  expect(alone?.links).toEqual([])
})

test("a span has only the host and port of a webhook's URL", async () => {
  const { tracer, ended } = aTracer()
  const work = tracer.process(aRecord())
  const to = (origin: string, attempt = 1) => ({ origin, urlIndex: 1, destinationId: 'crm', attempt })
  work.post(to('https://hooks.example'))({ outcome: 'delivered', status: 404, code: null })
  work.post(to('http://[::1]:9000', 3))({ outcome: 'retry', status: 503, code: 'http_5xx' })
  work.post(to('http://a'))({ outcome: 'retry', status: null, code: 'timeout' })
  work.post(to('http://a'))({ outcome: 'retry', status: null, code: 'aborted' })
  const [delivered, failed, late, aborted] = await ended()
  expect(delivered).toMatchObject({ name: 'POST', isError: false })
  expect(delivered?.attributes).toEqual({
    'http.request.method': 'POST',
    'url.scheme': 'https',
    'server.address': 'hooks.example',
    'server.port': 443,
    'sluice.destination.id': 'crm',
    'sluice.url_index': 1,
    'sluice.attempt': 1,
    'sluice.outcome': 'delivered',
    'http.response.status_code': 404,
  })
  expect(failed?.attributes).toMatchObject({
    'server.address': '::1',
    'server.port': 9000,
    'http.request.resend_count': 2,
    'error.type': '503',
    'sluice.code': 'http_5xx',
  })
  expect([failed?.isError, late?.isError, aborted?.isError]).toEqual([true, true, false])
  expect(late?.attributes['error.type']).toBe('timeout')
})

test('only the first end counts', async () => {
  const { tracer, ended, warnings } = aTracer()
  const work = tracer.process(aRecord())
  work.end('window_expired')
  work.end()
  expect(await ended()).toMatchObject([{ isError: true, attributes: { 'error.type': 'window_expired' } }])
  expect(warnings).toEqual([])
})

test('without a propagator no trace headers are read or written', async () => {
  const { tracer, ended } = aTracer({ OTEL_PROPAGATORS: 'none' })
  const work = tracer.process(aRecord(SAMPLED))
  expect([work.headers, work.send('deliveries', 1).headers]).toEqual([{}, {}])
  work.end()
  tracer.request({ ...track, traceparent: SAMPLED }).answered({ code: 'ok', status: 200 })
  expect(await ended()).toMatchObject([{ parent: undefined }, { links: [] }])
})
