import { once } from 'node:events'
import { METHODS, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Produced } from '../../../kafka/produce/produce.ts'
import { until } from '../../helpers/until.ts'
import { basic, fakeIngest } from '../fake.ts'
import { metricLines } from '../metric-lines.ts'
import { answerOf, head, open, parseAnswers, readAll, type WireAnswer } from './wire.ts'

const body = '{"userId":"u","event":"x"}'
const door = { timeouts: { lingerMs: 20 } }
const authorization = `Authorization: ${basic('shop-key')}`

function expectCoded(answer: WireAnswer, status: number, code: string): void {
  expect(answer).toMatchObject({
    status,
    headers: {
      'access-control-allow-origin': '*',
      'content-type': expect.stringContaining('application/json'),
    },
  })
  expect(JSON.parse(answer.body)).toEqual({ code, message: expect.stringMatching(/\.$/) })
}

describe('invalid HTTP is refused in JSON that browsers can read', () => {
  test.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a version that is none', 'GET /livez HTTP/3.7\r\nHost: x\r\n\r\n'],
    ['a method that is none', 'TRACKS /v1/track HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['both a length and chunks', `${head('Content-Length: 5\r\nTransfer-Encoding: chunked')}0\r\n\r\n`],
    ['two lengths', head('Content-Length: 5\r\nContent-Length: 6')],
    ['a length that is none', head('Content-Length: five')],
    ['a chunk that is none', `${head('Transfer-Encoding: chunked')}zz\r\nfoo`],
    ['no Host', `POST /v1/track HTTP/1.1\r\n${authorization}\r\nConnection: close\r\n\r\n`],
    ['a header with a NUL', head('X-Y: a\0b')],
    ['a proxy that is wanted', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('%s', async (_what, text) => {
    const ingest = fakeIngest({ door })
    const socket = await open(ingest)
    socket.write(Buffer.from(text, 'latin1'))
    expectCoded(await answerOf(socket), 400, 'bad_request')
    expect(await metricLines(ingest, 'sluice_ingest_requests_total')).toEqual([
      'sluice_ingest_requests_total{code="bad_request"} 1',
    ])
    expect(ingest.produced).toEqual([])
  })

  test('chunks with endless extensions', async () => {
    const socket = await open(fakeIngest({ door }))
    socket.write(`${head('Transfer-Encoding: chunked')}5;${'x'.repeat(20_000)}`)
    expectCoded(await answerOf(socket), 400, 'bad_request')
  })

  test.each([
    ['a header', (size: number) => head(`X: ${'y'.repeat(size)}\r\nContent-Length: 0\r\nConnection: close`)],
    [
      'a URL',
      (size: number) => head('Content-Length: 0\r\nConnection: close', `/v1/track?${'y'.repeat(size)}`),
    ],
  ])('%s above 64 KB', async (_what, sized) => {
    const [below, above] = [await open(), await open()]
    below.write(sized(65_000))
    expectCoded(await answerOf(below), 400, 'invalid_json')
    above.write(sized(66_000))
    expectCoded(await answerOf(above), 431, 'headers_too_large')
  })

  test('more than 200 headers', async () => {
    const [below, above] = [await open(), await open()]
    const many = (count: number) => head(`${'x: y\r\n'.repeat(count)}Content-Length: 0\r\nConnection: close`)
    below.write(many(190))
    expectCoded(await answerOf(below), 400, 'invalid_json')
    above.write(many(210))
    expectCoded(await answerOf(above), 431, 'headers_too_large')
  })

  test.each(['hello\r\n\r\n', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'])(
    'and can be read by a client that keeps writing megabytes after %j',
    async (text) => {
      const socket = await open()
      socket.write(text + 'x'.repeat(8_000_000))
      socket.end()
      expectCoded(await answerOf(socket), 400, 'bad_request')
      await once(socket, 'close')
    },
  )

  test('and the connection closes when the client has closed its side', async () => {
    const socket = await open()
    socket.write(`${head('Transfer-Encoding: gzip')}0\r\n`)
    await once(socket, 'readable')
    socket.end()
    expectCoded(await answerOf(socket), 400, 'bad_request')
  })

  test('after the answers to earlier requests', async () => {
    const kafka = Promise.withResolvers<Produced>()
    const ingest = fakeIngest({ outcome: kafka.promise })
    const socket = await open(ingest)
    socket.write(`${head(`Content-Length: ${body.length}`)}${body}GARBAGE\r\n\r\n`)
    await until(() => ingest.produced.length === 1)
    kafka.resolve('acked')
    expect(parseAnswers(await readAll(socket)).map(({ status }) => status)).toEqual([200, 400])
  })

  test('only once, however many bytes follow while an earlier answer is pending', async () => {
    const kafka = Promise.withResolvers<Produced>()
    const ingest = fakeIngest({ outcome: kafka.promise })
    const socket = await open(ingest)
    const responses: ServerResponse[] = []
    ingest.app.server.on('request', (_request, response) => responses.push(response))
    let errors = 0
    ingest.app.server.on('clientError', () => errors++)
    socket.write(`${head(`Content-Length: ${body.length}`)}${body}GARBAGE\r\n\r\n`)
    await until(() => {
      socket.write('x')
      return errors > 20
    })
    expect(responses[0]?.listenerCount('close')).toBeLessThan(10)
    kafka.resolve('acked')
    expect(parseAnswers(await readAll(socket)).map(({ status }) => status)).toEqual([200, 400])
  })
})

describe('a proxy request with a connection reset affects no other connection', () => {
  const proxy = 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'

  test.each([
    ['at once', 0, proxy],
    ['after its answer', 100, proxy],
    ['behind a call that waits for Kafka', 100, `${head(`Content-Length: ${body.length}`)}${body}${proxy}`],
  ])('%s', async (_what, afterMs, text) => {
    const kafka = Promise.withResolvers<Produced>()
    const ingest = fakeIngest({ outcome: kafka.promise })
    const socket = await open(ingest)
    socket.on('error', () => {}).resume()
    socket.write(text)
    if (afterMs > 0) await sleep(afterMs)
    socket.resetAndDestroy()
    await until(async () => (await metricLines(ingest, 'sluice_ingest_connections 0')).length === 1)
    kafka.resolve('acked')
    const other = await open(ingest)
    other.write(head(`Content-Length: ${body.length}\r\nConnection: close`) + body)
    expect(await answerOf(other)).toMatchObject({ status: 200 })
  })
})

describe('unusual but valid HTTP', () => {
  const send = async (text: string) => {
    const ingest = fakeIngest()
    const socket = await open(ingest)
    socket.write(text)
    const answers = parseAnswers(await readAll(socket))
    return { statuses: answers.map(({ status }) => status), answers, events: ingest.events().length }
  }
  const closing = `Content-Length: ${body.length}\r\nConnection: close`

  test('an absolute URL', async () => {
    for (const url of ['http://any.example/v1/track', 'HTTPS://any.example:8080/v1/t/?writeKey=shop-key'])
      expect(await send(head(closing, url) + body)).toMatchObject({ statuses: [200], events: 1 })
    expect(await send(head(closing, 'http://any.example') + body)).toMatchObject({ statuses: [404] })
  })

  test('HTTP/1.0, closed after the answer', async () => {
    const text = `POST /v1/track HTTP/1.0\r\n${authorization}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    expect(await send(text)).toMatchObject({ statuses: [200], events: 1 })
  })

  test.each(['100-continue', '100-Continue', 'miracles'])('Expect: %s', async (expected) => {
    const { statuses, events } = await send(head(`Expect: ${expected}\r\n${closing}`) + body)
    expect([statuses.at(-1), events]).toEqual([200, 1])
  })

  test('a client that asks first is told that its body is too large, and need not send it', async () => {
    const socket = await open(fakeIngest({ door }))
    socket.write(head('Expect: 100-continue\r\nContent-Length: 99999'))
    expectCoded(await answerOf(socket), 413, 'call_too_large')
  })

  test('a client that asks first is told to continue', async () => {
    const socket = await open()
    socket.write(head(`Expect: 100-continue\r\n${closing}`))
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 100 Continue\r\n/)
    socket.write(body)
    expect(await answerOf(socket)).toMatchObject({ status: 200 })
  })

  test('OPTIONS *', async () => {
    expect(await send('OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toMatchObject({
      statuses: [204],
    })
  })

  test('an upgrade, which is ignored', async () => {
    expect(
      await send(head(`Upgrade: websocket\r\n${closing}`).replace('close', 'close, upgrade') + body),
    ).toMatchObject({ statuses: [200] })
  })
})

test('a client that left before its connection was accepted has no address, and its call is stored', async () => {
  const ingest = fakeIngest()
  ingest.app.server.prependListener('connection', (socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: undefined }),
  )
  const sent = [
    `${head(`Content-Length: ${body.length}\r\nConnection: close`)}${body}`,
    'GET /v1/pixel/track?writeKey=shop-key&data=e30 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    'OPTIONS /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx',
    'POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
  ]
  for (const request of sent) {
    const socket = await open(ingest)
    socket.write(request)
    await readAll(socket)
  }
  expect(ingest.events()).toHaveLength(1)
  expect(ingest.errors).toEqual([])
})

test.each(METHODS.filter((method) => !['POST', 'OPTIONS', 'CONNECT', 'HEAD'].includes(method)))(
  'the method %s is method_not_allowed for calls, also with a body',
  async (method) => {
    const socket = await open()
    socket.write(
      `${head(`Content-Length: ${body.length}\r\nConnection: close`).replace('POST', method)}${body}`,
    )
    expectCoded(await answerOf(socket), 405, 'method_not_allowed')
  },
)

test('HEAD has the headers of an answer and no body', async () => {
  const socket = await open()
  socket.write(head('Connection: close').replace('POST', 'HEAD'))
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 405 [\s\S]*\r\n\r\n$/)
})

test('client metrics are read and discarded, whatever they contain', async () => {
  const ingest = fakeIngest()
  for (const path of ['/v1/m', '/v1/m/']) {
    const socket = await open(ingest)
    socket.write(head('Content-Encoding: br\r\nContent-Length: 3000000\r\nConnection: close', path))
    socket.write(Buffer.alloc(3_000_000))
    expect(await answerOf(socket)).toMatchObject({ status: 200, body: '{"success":true}' })
  }
  expect(ingest.produced).toEqual([])
})

test.each([
  ['two Hosts', 'GET /livez HTTP/1.1\r\nHost: a\r\nhOst: b\r\n\r\n'],
  ['two Hosts, and a path that cannot be decoded', 'GET /%ff HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ['two Hosts, and a URL that cannot be parsed', 'GET http:// HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ['no Host, at a pixel that cannot be decoded', 'GET /v1/pixel/%ff HTTP/1.1\r\n\r\n'],
  ['no Host, at a pixel with a long name', `GET /v1/pixel/${'x'.repeat(150)} HTTP/1.1\r\n\r\n`],
  ['two Hosts, in HTTP/1.0', 'GET /livez HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n'],
  [
    'a Transfer-Encoding in HTTP/1.0',
    `${head('Transfer-Encoding: chunked').replace('HTTP/1.1', 'HTTP/1.0')}2\r\n{}\r\n0\r\n\r\n`,
  ],
  ['another Transfer-Encoding', `${head('Transfer-Encoding: gzip, chunked')}2\r\n{}\r\n0\r\n\r\n`],
  [
    'two Transfer-Encodings',
    `${head('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
  ],
  ['two write keys', `${head(`aUTHORIZATION: Basic a2V5Og==\r\nContent-Length: ${body.length}`)}${body}`],
])('a request that proxies could read differently is refused: %s', async (_what, sent) => {
  const ingest = fakeIngest()
  const socket = await open(ingest)
  socket.write(sent)
  expect(await answerOf(socket)).toMatchObject({
    status: 400,
    body: expect.stringContaining('"bad_request"'),
  })
  expect(ingest.produced).toEqual([])
})
