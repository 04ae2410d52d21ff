import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import fastify from 'fastify'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { takeStreams, textOf } from '../../../control/api/body-stream.ts'
import { addPath, operation } from '../../../control/api/operation.ts'
import { limitServer, SERVER_LIMITS } from '../../../control/api/server-limits.ts'
import { suppressionId } from '../../../settings/suppression-list.ts'
import { collectGarbage } from '../../helpers/garbage.ts'
import { until } from '../../helpers/until.ts'
import { ADMIN, api, VIEW } from '../api.ts'
import { now, shop } from '../in-memory.ts'
import { head, listen } from '../wire.ts'

const bounded = (limits: Partial<typeof SERVER_LIMITS>) =>
  api({}, { limits: { ...SERVER_LIMITS, checkMs: 20, ...limits } }).app

/** @returns a function that opens a connection and sends something */
const listening = (limits: Partial<typeof SERVER_LIMITS>) => listen(bounded(limits))

const posting = (length: number) =>
  head('POST /api/session HTTP/1.1', { 'Content-Type': 'application/json', 'Content-Length': String(length) })

test('many clients that never finish signing in are all answered and disconnected', async () => {
  const open = await listening({ requestMs: 300 })
  const sockets = Array.from({ length: 400 }, () => open(`${posting(4_000)}${'x'.repeat(3_994)}`))
  const answers = await Promise.all(sockets.map(text))
  expect(new Set(answers.map((answer) => answer.slice(0, 12)))).toEqual(new Set(['HTTP/1.1 408']))
  expect(answers[0]).toMatch(/"code":"request_timeout","message":"[^"]* in time/)
})

test('clients that never finish their headers are answered and disconnected too', async () => {
  const open = await listening({ headersMs: 200 })
  const sockets = Array.from({ length: 50 }, () => open('POST /api/session HTTP/1.1\r\nHost: sluice\r\n'))
  for (const answer of await Promise.all(sockets.map(text))) expect(answer).toMatch(/^HTTP\/1.1 408 /)
})

test('an unused connection stays open like one between requests, then closes without an answer', async () => {
  const open = await listening({ headersMs: 50, keepAliveMs: 200 })
  const opened = performance.now()
  expect(await text(open(''))).toBe('')
  expect(performance.now() - opened).toBeGreaterThan(240)
})

test.each([
  ['DELETE /api/sources/shop', ''],
  ['POST /api/session', JSON.stringify({ token: ADMIN })],
])(
  'a client that reset its connection before it was accepted has no address for the audit log, so nothing is done: %s',
  async (line, body) => {
    const { app, lines, settings } = api({ sources: [shop] })
    const open = await listen(app)
    app.server.prependOnceListener('connection', (socket) =>
      Object.defineProperty(socket, 'remoteAddress', { value: undefined }),
    )
    const headers = {
      Authorization: `Bearer ${ADMIN}`,
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
      Connection: 'close',
    }
    expect(await text(open(`${head(`${line} HTTP/1.1`, headers)}${body}`))).toBe('')
    expect(settings.sources.has('shop')).toBe(true)
    expect(lines.filter((each) => each.includes('"audit":true'))).toEqual([])
  },
)

test('if headers are too large, the answer says so', async () => {
  const open = await listening({})
  const answer = await text(open(head('GET /api/session HTTP/1.1', { 'X-Long': 'x'.repeat(100_000) })))
  expect(answer).toMatch(/^HTTP\/1.1 431 [\s\S]*"headers_too_large","message":"[^"]*headers are too large/)
})

test('a sign-in larger than a token is answered before its body is sent', async () => {
  const open = await listening({})
  const socket = open(posting(1024 * 1024))
  const [chunk] = await once(socket, 'data')
  expect(String(chunk)).toMatch(/^HTTP\/1.1 413 [\s\S]*"body_too_large".* 4 KB/)
})

test.each(['/', '/nothing', '/docs/nothing'])(
  'a body for an unknown path is not read, because anyone may send it: %s',
  async (path) => {
    const open = await listening({})
    const headers = { 'Content-Type': 'application/json', 'Content-Length': '1000000' }
    const [chunk] = await once(open(head(`POST ${path} HTTP/1.1`, headers)), 'data')
    expect(String(chunk)).toMatch(/^HTTP\/1.1 404 [\s\S]*"not_found"/)
  },
)

test('chunks of an incomplete body are not kept separately: 4,000 of one byte took 900 KB', async () => {
  const app = bounded({})
  const chunks: WeakRef<Buffer>[] = []
  app.server.prependListener('request', (request) => {
    const push = request.push.bind(request)
    request.push = (chunk: Buffer) => {
      chunks.push(new WeakRef(chunk))
      return push(chunk)
    }
  })
  const open = await listen(app)
  const headers = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }
  open(`${head('POST /api/session HTTP/1.1', headers)}${'1\r\n \r\n'.repeat(4_000)}`)
  await until(() => {
    collectGarbage()
    return chunks.length === 4_000 && chunks.filter((chunk) => chunk.deref()).length < 100
  })
})

test.each([
  ['/api/audiences/vip/members', 401],
  ['/%ff', 400],
  ['http://', 404],
])('a rejected client that keeps sending is disconnected: %s', async (path, status) => {
  const open = await listening({ requestMs: 300 })
  const headers = { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' }
  const socket = open(head(`PUT ${path} HTTP/1.1`, headers))
  const [chunk] = await once(socket, 'data')
  expect(String(chunk)).toContain(`HTTP/1.1 ${status} `)
  await once(socket, 'close')
})

describe('an upload of an authenticated client', () => {
  /** Sends less than it announces. */
  const sending = (path: string, type: string) =>
    head(`POST ${path} HTTP/1.1`, {
      Authorization: `Bearer ${ADMIN}`,
      'Content-Type': type,
      'Content-Length': '10',
    })
  const uploading = sending('/api/restore', 'text/plain')

  test('may take longer', async () => {
    const open = await listening({ requestMs: 100, uploadMs: 600_000 })
    let isOver = false
    const upload = open(uploading).on('data', () => {
      isOver = true
    })
    expect(await text(open(sending('/api/sources', 'application/json')))).toMatch(/^HTTP\/1.1 408 /)
    expect([isOver, upload.readyState]).toEqual([false, 'open'])
  })

  test('may not take forever', async () => {
    const open = await listening({ headersMs: 650, requestMs: 100, uploadMs: 700 })
    const began = performance.now()
    expect(await text(open(uploading))).toMatch(/^HTTP\/1.1 408 /)
    expect(performance.now() - began).toBeGreaterThan(600)
  })
})

test('a connection above the limit replaces the oldest idle one', async () => {
  const open = await listening({ connections: 3 })
  const [first, ...others] = [open(''), open(''), open('')]
  await Promise.all([first, ...others].map((socket) => once(socket, 'connect')))
  const fourth = open('GET /livez HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n\r\n')
  expect(await text(fourth)).toMatch(/^HTTP\/1.1 200 /)
  expect(await text(first)).toBe('')
  expect(others.map(({ readableEnded }) => readableEnded)).toEqual([false, false])
})

test.each([
  ['its headers', 'GET /livez HTTP/1.1\r\nHost: sluice\r\n'],
  ['its body', posting(100)],
  [
    'a body that has its answer',
    `${head('PUT /api/audiences/vip/members HTTP/1.1', { 'Transfer-Encoding': 'chunked' })}7\r\nuser-1\n\r\n`,
  ],
])('who does not end %s does not hold up the end of the process', async (_, begun) => {
  const app = bounded({ headersMs: 300_000, requestMs: 300_000, closingMs: 50 })
  const open = await listen(app)
  const taken = once(app.server, 'connection')
  const socket = open(begun)
  const [connection] = await taken
  await until(() => connection.bytesRead === begun.length)
  const closed = once(socket.resume(), 'close')
  await app.close()
  await closed
})

/** One network's requests that are answered without delay. */
async function flooded(strangerDelayMs: number) {
  const strangers = { perSecond: 1 / 3_600, burst: 3 }
  const { app } = api({}, { limits: { ...SERVER_LIMITS, strangers, strangerDelayMs } })
  const statusOf = async (url: string, { from = '203.0.113.7', token = '' } = {}) => {
    const headers = token ? { authorization: `Bearer ${token}` } : {}
    return (await app.inject({ url, remoteAddress: from, headers })).statusCode
  }
  for (const url of ['/livez', '/docs/api/start.js', '/api/sources']) await statusOf(url)
  return statusOf
}

test.each([
  ['/livez', 200],
  ['/docs/api/start.js', 200],
  ['/api/openapi.json', 200],
  ['/api/sources', 401],
  ['/nothing', 404],
  ['/%ff', 400],
  [`/assets/${'x'.repeat(150)}`, 404],
])('answers to a network that sends many requests without a token are delayed: %s', async (url, expected) => {
  const statusOf = await flooded(300)
  const began = performance.now()
  expect(await statusOf(url)).toBe(expected)
  expect(performance.now() - began).toBeGreaterThan(290)
})

test('once half of the connections wait for delayed answers, further ones get 503 and are closed, even from a proxy', async () => {
  const trustProxy = ['127.0.0.0/8']
  const strangers = { perSecond: 1 / 3_600, burst: 1 }
  const limits = { ...SERVER_LIMITS, connections: 4, strangers, strangerDelayMs: 600_000 }
  const { app, lines } = api({}, { limits, trustProxy })
  const open = await listen(app)
  const from = (client: string) =>
    head('GET /livez HTTP/1.1', { 'X-Forwarded-For': client, Connection: 'close' })
  await text(open(from('203.0.113.7')))
  const three = Array.from({ length: 3 }, () => open(from('203.0.113.7')))
  expect(await Promise.race(three.map(text))).toMatch(/^HTTP\/1.1 503 /)
  expect(await text(open(from('198.51.100.1')))).toContain(' 200 ')
  expect(three.filter(({ destroyed }) => destroyed)).toHaveLength(1)
  expect(lines.join()).not.toContain('a request failed')
})

test('a client without a token that leaves before its delayed answer changes nothing', async () => {
  const limits = { ...SERVER_LIMITS, strangers: { perSecond: 1 / 3_600, burst: 1 }, strangerDelayMs: 300 }
  const { app, topic, lines } = api({ sources: [shop] }, { limits })
  const open = await listen(app)
  await text(open(head('GET /livez HTTP/1.1', { Connection: 'close' })))
  for (let index = 0; index < 3; index++) {
    const socket = open(head('DELETE /api/sources/shop HTTP/1.1', { 'If-Match': `"${shop.version}"` }))
    await once(app.server, 'request')
    socket.destroy()
  }
  // delayed for as long as theirs, and later
  await text(open(head('GET /livez HTTP/1.1', { Connection: 'close' })))
  expect([topic, lines]).toEqual([new Map(), []])
})

test('the request of a client that leaves before its delayed answer is not kept in memory', async () => {
  const strangers = { perSecond: 1 / 3_600, burst: 1 }
  const limits = { ...SERVER_LIMITS, strangers, strangerDelayMs: 20, requestMs: 600_000 }
  const { app } = api({}, { limits })
  const requests: WeakRef<object>[] = []
  app.server.on('request', (request) => requests.push(new WeakRef(request)))
  const open = await listen(app)
  await text(open(head('GET /livez HTTP/1.1', { Connection: 'close' })))
  for (let count = 0; count < 3; count++) {
    const socket = open(head('GET /livez HTTP/1.1'))
    await once(app.server, 'request')
    socket.destroy()
  }
  await until(() => {
    collectGarbage()
    return requests.slice(0, -1).every((request) => request.deref() === undefined)
  })
})

test('answers to requests with a token and to other networks are not delayed', async () => {
  // longer than a test may take
  const statusOf = await flooded(600_000)
  expect(await statusOf('/api/sources', { token: ADMIN })).toBe(200)
  expect(await statusOf('/livez', { from: '203.0.113.8' })).toBe(200)
})

test.each([
  ['two Hosts', 'GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ['no Host', 'GET /livez HTTP/1.1\r\n\r\n'],
  ['no Host, at a path that cannot be decoded', 'GET /%ff HTTP/1.1\r\n\r\n'],
  ['no Host, at a URL that cannot be parsed', 'GET http:// HTTP/1.1\r\n\r\n'],
  [
    'a Transfer-Encoding in HTTP/1.0',
    `${posting(2).replace('1.1', '1.0').replace('Content-Length: 2', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  ],
  [
    'another Transfer-Encoding',
    `${posting(2).replace('Content-Length: 2', 'Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
  ],
  ['two tokens', head('GET /livez HTTP/1.1', { Authorization: 'Bearer a\r\nauthorization: Bearer b' })],
])('what a proxy may have read in another way is refused: %s', async (_what, sent) => {
  const open = await listening({})
  expect(await text(open(sent))).toMatch(/^HTTP\/1.1 400 [\s\S]*"bad_request"/)
})

test('requests beyond those that may wait on a connection are dropped', async () => {
  const { app, lines } = api()
  const open = await listen(app)
  const request = head('GET /api/session HTTP/1.1', { Authorization: 'Bearer of-nobody-at-all' })
  await text(open(request.repeat(200))).catch(() => '')
  expect(lines.filter((line) => line.includes('wrong token'))).toHaveLength(4)
})

test.each([
  ['without Host', 'GET /livez HTTP/1.1\r\n\r\n'],
  ['with an expectation', head('GET /livez HTTP/1.1', { Expect: 'miracles' })],
])('so are those that Node would answer itself: %s', async (_what, request) => {
  const open = await listening({})
  expect(await text(open(request.repeat(200))).catch(() => '')).toBe('')
})

test('clients that do not read large answers lose their connections, the one that has waited longest first', async () => {
  const suppressions = Array.from({ length: 700 }, (_, index) => {
    const userId = `${index}-${'x'.repeat(30_000)}`
    return { id: suppressionId({ sourceId: '*', userId }), sourceId: '*', userId, version: 1, updatedAt: now }
  })
  const limits = { ...SERVER_LIMITS, unreadBytes: 30_000_000 }
  const open = await listen(api({ suppressions }, { limits }).app)
  const sockets = await Promise.all(
    [0, 1].map(async () => {
      const socket = open(
        head('GET /api/suppressions?limit=1000 HTTP/1.1', { Authorization: `Bearer ${VIEW}` }),
      )
      await once(socket, 'readable')
      return socket
    }),
  )
  const closed = sockets.map(async (socket) => {
    await once(socket.resume(), 'close')
    return socket.bytesRead
  })
  expect(await Promise.race(closed)).toBeLessThan(21_000_000)
})

const upload = (answering: Promise<void>) =>
  operation({
    summary: 'An upload',
    body: { required: true, types: { 'text/plain': z.string() } },
    responses: {},
    async handle(request) {
      const read = textOf(request, 'lines')
      if ('refused' in read) return expect.fail('it can be read')
      for await (const _ of read.text) break
      await answering
      return { status: 400, body: 'refused' }
    },
  })
const next = (answering: Promise<void>) =>
  operation({
    summary: 'Another',
    responses: {},
    async handle() {
      await answering
      return { status: 200, body: 'the next' }
    },
  })

/** @param when each is answered; default: at once */
async function refusing(
  { requestMs }: { requestMs: number },
  when: { upload?: Promise<void>; next?: Promise<void> } = {},
) {
  const app = fastify()
  onTestFinished(() => app.close())
  limitServer(app, { ...SERVER_LIMITS, requestMs, closingMs: NEVER_MS }, [])
  app.removeAllContentTypeParsers()
  takeStreams(app)
  const atOnce = Promise.resolve()
  addPath(app, '/', { PUT: upload(when.upload ?? atOnce), GET: next(when.next ?? atOnce) })
  return { app, open: await listen(app) }
}

/** Longer than a test may take: a test that relies on it fails. */
const NEVER_MS = 600_000

const chunked = head('PUT / HTTP/1.1', { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' })
const CHUNK = '7\r\nuser-1\n\r\n'

const plain = Buffer.alloc(2_000_000, 'user-1\n')
test.each<[string, Record<string, string>, Buffer]>([
  ['as it is', {}, plain],
  // random bytes do not compress
  ['as gzip', { 'Content-Encoding': 'gzip' }, gzipSync(randomBytes(2_000_000))],
  ['so short that it is there whole', {}, plain.subarray(0, 100_000)],
])(
  'the connection of an upload that is answered before its end takes the next request: %s',
  async (_, more, body) => {
    const { open } = await refusing({ requestMs: NEVER_MS })
    const length = { 'Content-Type': 'text/plain', 'Content-Length': String(body.length) }
    const socket = open(head('PUT / HTTP/1.1', { ...length, ...more }))
    let responses = ''
    socket.on('data', (chunk) => {
      responses += chunk
    })
    socket.write(body.subarray(0, 70_000))
    await until(() => responses.includes('refused'))
    socket.write(body.subarray(70_000))
    socket.write(head('GET / HTTP/1.1'))
    await until(() => responses.includes('the next'))
  },
)

test('the rest of an answered body is not read forever', async () => {
  const { open } = await refusing({ requestMs: 200 })
  const socket = open(`${chunked}${CHUNK}`)
  const [chunk] = await once(socket, 'data')
  expect(String(chunk)).toMatch(/^HTTP\/1.1 400 /)
  const drip = setInterval(() => socket.write(CHUNK), 20)
  onTestFinished(() => clearInterval(drip))
  // not `once`: it may be reset
  await until(() => socket.closed)
})

const ONE_BYTE = '1\r\n \r\n'

test.each([
  ['at an unknown path', 'POST /nothing', {}],
  ['of the API', 'PUT /api/sources/shop', {}],
  ['with the view token', 'PUT /api/sources/shop', { Authorization: `Bearer ${VIEW}` }],
  ['of a sign-in that is too long', 'POST /api/session', { 'Content-Type': 'application/json' }],
])(
  'the rest of an answered body %s may not have very many chunks, because one connection could keep the process busy',
  async (_where, line, headers) => {
    const app = bounded({ requestMs: NEVER_MS })
    const open = await listen(app)
    const taken = once(app.server, 'connection')
    const socket = open(head(`${line} HTTP/1.1`, { ...headers, 'Transfer-Encoding': 'chunked' }))
    const [connection] = await taken
    socket.write(ONE_BYTE.repeat(500_000))
    await until(() => connection.closed)
    expect(connection.bytesRead).toBeLessThan(400_000)
  },
)

test('the rest of a body may not have very many chunks while its answer is delayed either', async () => {
  const strangers = { perSecond: 1 / 3_600, burst: 1 }
  const open = await listening({ requestMs: NEVER_MS, strangers, strangerDelayMs: NEVER_MS })
  await text(open(head('GET /nothing HTTP/1.1', { Connection: 'close' })))
  const socket = open(head('POST /nothing HTTP/1.1', { 'Transfer-Encoding': 'chunked' }))
  socket.write(ONE_BYTE.repeat(1_000))
  expect(await text(socket)).toMatch(/^HTTP\/1.1 503 /)
})

test('an administrator may send the rest of an answered upload in very many chunks', async () => {
  const open = await listening({ requestMs: NEVER_MS })
  const headers = { Authorization: `Bearer ${ADMIN}`, 'Transfer-Encoding': 'chunked' }
  const socket = open(head('PUT /api/audiences/nobody/members HTTP/1.1', headers))
  await once(socket, 'data')
  socket.write(`${ONE_BYTE.repeat(1_000)}0\r\n\r\n${head('GET /livez HTTP/1.1', { Connection: 'close' })}`)
  expect(await text(socket)).toContain('HTTP/1.1 200 ')
})

test('a finished body does not affect later requests on the connection', async () => {
  const { open } = await refusing({ requestMs: 60_000 })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const socket = open(`${chunked}${CHUNK}`)
  await once(socket, 'data')
  for (const ending of ['0\r\n\r\n', '']) {
    socket.write(`${ending}${head('GET / HTTP/1.1')}`)
    expect(String((await once(socket, 'data'))[0])).toContain('the next')
    vi.advanceTimersByTime(120_000)
  }
})

test('a further request on a connection is answered before the process ends', async () => {
  const { promise: answering, resolve: answer } = Promise.withResolvers<void>()
  const { app, open } = await refusing({ requestMs: NEVER_MS }, { next: answering })
  const socket = open(`${chunked}${CHUNK}`)
  await once(socket, 'data')
  const asked = once(app.server, 'request')
  socket.write(`0\r\n\r\n${head('GET / HTTP/1.1', { Connection: 'close' })}`)
  await asked
  const closed = app.close()
  await until(() => !app.server.listening)
  answer()
  expect(await text(socket)).toContain('the next')
  await closed
})

test('a closed connection is not waited for', async () => {
  const { app, open } = await refusing({ requestMs: 60_000 })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const taken = once(app.server, 'connection')
  const socket = open(`${chunked}${CHUNK}`)
  const [connection] = await taken
  await once(socket, 'data')
  // not `once`: Node emits an error first if a request breaks off
  const closed = new Promise((resolve) => connection.once('close', resolve))
  socket.destroy()
  await closed
  const destroy = vi.spyOn(connection, 'destroy')
  vi.advanceTimersByTime(120_000)
  expect(destroy).not.toHaveBeenCalled()
})
