import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Produced } from '../../../kafka/produce/produce.ts'
import { until } from '../../helpers/until.ts'
import { fakeIngest } from '../fake.ts'
import { answerOf, chunked, head, open, parseAnswers, readAll } from './wire.ts'

const body = '{"userId":"u","event":"x"}'
const call = head(`Content-Length: ${body.length}`) + body
const last = head(`Content-Length: ${body.length}\r\nConnection: close`) + body

const withHeaders = (count: number, value: string) => {
  const fields = Array.from({ length: count }, (_, i) => `X-${i}: ${value}\r\n`).join('')
  return `${head(`${fields}Content-Length: ${body.length}`)}${body}`
}

test('a client that keeps writing megabytes can read its 413', async () => {
  const socket = await open()
  const size = 8 * 1024 * 1024
  socket.write(head(`Content-Length: ${size}`))
  const [answer] = await once(socket, 'data') // before anything of the body is sent
  expect(parseAnswers(String(answer))).toMatchObject([
    { status: 413, headers: { connection: 'close' }, body: expect.stringContaining('"call_too_large"') },
  ])
  for (let sent = 0; sent < size; sent += 64 * 1024)
    if (!socket.write(Buffer.alloc(64 * 1024))) await once(socket, 'drain')
  expect(await readAll(socket)).toBe('') // ends, and is not reset
})

test.each(['', '\r\nContent-Encoding: gzip'])(
  'so can that to a chunked body which turns out too large, and goes on for megabytes%s',
  async (encoding) => {
    const socket = await open()
    socket.write(head(`Transfer-Encoding: chunked${encoding}`))
    socket.write(chunked(Buffer.alloc(8 * 1024 * 1024, 'x'), 64 * 1024))
    expect(await answerOf(socket)).toMatchObject({ status: 413, headers: { connection: 'close' } })
  },
)

test('it can also read the refusal of an unknown path', async () => {
  const socket = await open()
  socket.write(head('Transfer-Encoding: chunked', '/v1/nowhere'))
  socket.write(chunked(Buffer.alloc(8 * 1024 * 1024, 'x'), 64 * 1024))
  expect(await answerOf(socket)).toMatchObject({ status: 404, headers: { connection: 'close' } })
})

test('a zip bomb is not inflated beyond the limit', async () => {
  const socket = await open()
  const bomb = gzipSync(Buffer.alloc(20_000_000))
  const before = process.memoryUsage().arrayBuffers
  socket.write(head(`Content-Encoding: gzip\r\nContent-Length: ${bomb.length}`, '/v1/batch'))
  socket.write(bomb)
  expect(await once(socket, 'data').then(String)).toMatch(/"batch_too_large"/)
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000)
})

describe('requests of one connection', () => {
  test('are answered in order, even if a later one is ready earlier', async () => {
    const kafka = Promise.withResolvers<Produced>()
    const ingest = fakeIngest({ outcome: kafka.promise })
    const socket = await open(ingest)
    socket.write(`${call}${head('Content-Length: 0', '/nowhere')}${last}`)
    await until(() => ingest.produced.length === 2)
    kafka.resolve('acked')
    expect(parseAnswers(await readAll(socket)).map(({ status }) => status)).toEqual([200, 404, 200])
  })

  test('are answered even if the client has closed its side', async () => {
    const kafka = Promise.withResolvers<Produced>()
    const ingest = fakeIngest({ outcome: kafka.promise })
    const socket = await open(ingest)
    socket.end(call)
    await until(() => ingest.produced.length === 1)
    kafka.resolve('acked')
    expect(await answerOf(socket)).toMatchObject({ status: 200 })
  })

  test.each([
    ['by the thousand', call, 8_192],
    ['with large headers', withHeaders(60, 'y'.repeat(1_000)), 60_000],
    ['with many small headers', withHeaders(180, 'y'), 18_000],
    ['with a long URL', call.replace('/v1/track', `/v1/track?${'y'.repeat(60_000)}`), 60_000],
  ])('%s, unread, take no more memory than the limit', async (_what, one, least) => {
    const bound = 1_000_000
    const ingest = fakeIngest({
      outcome: new Promise(() => {}),
      door: { heldBytes: bound, timeouts: { closingMs: 50 } },
    })
    const socket = await open(ingest)
    socket.pause()
    const many = one.repeat(Math.ceil(100_000 / one.length))
    for (let sent = 0; sent < 1_000 && socket.write(many); sent++) await new Promise(setImmediate)
    await until(() => socket.writableLength > 0, { message: 'ingest reads no more' })
    const held = await ingest.metrics.getSingleMetric('sluice_ingest_held_bytes')?.get()
    // the last quarter is reserved for other networks
    expect(held?.values[0]?.value).toBeGreaterThan(bound * 0.75 - 150_000)
    expect(held?.values[0]?.value).toBeLessThanOrEqual(bound * 0.75)
    expect(ingest.produced.length).toBeLessThan(bound / least)
  })
})

test('an answer that waits behind earlier ones keeps no URL and no headers in memory', async () => {
  const kafka = Promise.withResolvers<Produced>()
  const ingest = fakeIngest({ outcome: kafka.promise })
  const requests: IncomingMessage[] = []
  const socket = await open(ingest)
  ingest.app.server.on('request', (request) => requests.push(request))
  const long = 'y'.repeat(10_000)
  const large = `Host: x\r\nX: ${long}\r\n`
  const others = [
    'GET /nowhere',
    'GET /livez',
    'GET /v1/pixel/nothing',
    'HEAD /v1/pixel/track',
    'OPTIONS /v1/track',
  ]
  socket.write(call + others.map((it) => `${it}?${long} HTTP/1.1\r\n${large}\r\n`).join('') + last)
  await until(() => ingest.produced.length === 2)
  const kept = requests
    .slice(1, -1)
    .map((request) => [...Object.values(request), ...request.rawHeaders, request.headers.x])
  expect(kept.flat().filter((value) => String(value).includes(long))).toEqual([])
  kafka.resolve('acked')
  expect((await readAll(socket)).match(/HTTP\/1.1 \d+/g)?.map((it) => it.slice(-3))).toEqual([
    '200',
    '404',
    '200',
    '200',
    '200',
    '204',
    '200',
  ])
})

test.each([
  ['a call that waits for Kafka', '/v1/track'],
  ['metrics', '/v1/m'],
  ['a refused call', '/v1/nowhere'],
])('the trailers of %s are not kept', async (_what, path) => {
  const ingest = fakeIngest({ outcome: new Promise(() => {}), door: { timeouts: { closingMs: 50 } } })
  const requests: IncomingMessage[] = []
  const socket = await open(ingest)
  ingest.app.server.on('request', (request) => requests.push(request))
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`
  socket.write(`${head('Transfer-Encoding: chunked', path)}${chunk}0\r\nX: y\r\n\r\n`)
  await until(() => requests[0]?.readableEnded)
  expect(requests[0]?.rawTrailers).toEqual([])
})

test('a request in flight at shutdown is answered, and its connection closed', async () => {
  const kafka = Promise.withResolvers<Produced>()
  const ingest = fakeIngest({ outcome: kafka.promise })
  const socket = await open(ingest)
  socket.write(call)
  await until(() => ingest.produced.length === 1)
  const closed = ingest.app.close()
  await until(() => !ingest.app.server.listening)
  kafka.resolve('acked')
  expect(await answerOf(socket)).toMatchObject({
    status: 200,
    headers: { connection: 'close' },
    body: '{"success":true}',
  })
  await closed
})
