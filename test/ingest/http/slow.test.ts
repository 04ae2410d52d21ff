import { once } from 'node:events'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collectGarbage } from '../../helpers/garbage.ts'
import { until } from '../../helpers/until.ts'
import { type FakeIngest, fakeIngest, sources } from '../fake.ts'
import { metricLines } from '../metric-lines.ts'
import { answerOf, head, open, parseAnswers, readAll } from './wire.ts'

const timeouts = { headersMs: 60, requestMs: 120, lingerMs: 60, checkMs: 20, idleMs: 60 }
const slow = (more = {}) => fakeIngest({ door: { timeouts: { ...timeouts, ...more } } })
const value = async (ingest: FakeIngest, name: string) =>
  Number((await metricLines(ingest, name))[0]?.split(' ')[1])

describe('a client that takes too long gets an answer, and its memory is freed', () => {
  test.each([
    ['with its headers', 'POST /v1/track HTTP/1.1\r\nHost: x\r\n'],
    ['with its body', `${head('Content-Length: 10000')}{"userId":`],
    ['with its chunks', `${head('Transfer-Encoding: chunked')}5\r\n{"use`],
    ['with its gzip', `${head('Content-Encoding: gzip\r\nTransfer-Encoding: chunked')}5\r\nabcde\r\n`],
    ['with what nobody reads', `${head('Content-Length: 10000', '/v1/m')}{`],
  ])('%s', async (_what, text) => {
    const ingest = slow()
    const socket = await open(ingest)
    socket.write(text)
    const answer = await answerOf(socket)
    expect(answer).toMatchObject({
      status: 408,
      headers: { 'access-control-allow-origin': '*', connection: 'close' },
      body: expect.stringContaining('"request_timeout"'),
    })
    expect(await value(ingest, 'sluice_ingest_held_bytes')).toBe(0)
    expect(ingest.produced).toEqual([])
    await until(() => connections(ingest) === 0, { message: 'the connection is closed' })
  })
})

test('an unused connection stays open like one between requests, then closes without an answer', async () => {
  const ingest = slow({ keepAliveMs: 200 })
  const opened = performance.now()
  const socket = await open(ingest)
  expect(await readAll(socket)).toBe('')
  expect(performance.now() - opened).toBeGreaterThan(250)
})

test.each([
  ['a first request is answered', `${head('Content-Length: 2\r\nConnection: close')}{}`, 400],
  ['a first request still has a limit', 'POST /v1/track HTTP/1.1\r\nHost: x\r\n', 408],
])('on a connection that was long unused, %s', async (_what, text, status) => {
  const ingest = slow()
  const timedOut = once(ingest.app.server, 'clientError')
  const socket = await open(ingest)
  await timedOut
  socket.write(text)
  expect(await answerOf(socket)).toMatchObject({ status })
})

test('line breaks do not keep a long unused connection open forever', async () => {
  const ingest = slow({ keepAliveMs: 200 })
  const timedOut = once(ingest.app.server, 'clientError')
  const socket = await open(ingest)
  await timedOut
  socket.write('\r\n')
  expect(await readAll(socket)).toBe('')
})

test('a first request may take longer than a connection may be unused', async () => {
  const { promise: outcome, resolve } = Promise.withResolvers<'acked'>()
  const ingest = fakeIngest({ outcome, door: { timeouts: { ...timeouts, keepAliveMs: 100 } } })
  const timedOut = once(ingest.app.server, 'clientError')
  const socket = await open(ingest)
  await timedOut
  const body = '{"userId":"u1","event":"e"}'
  socket.write(`${head(`Content-Length: ${body.length}\r\nConnection: close`)}${body}`)
  setTimeout(() => resolve('acked'), 300)
  expect(await answerOf(socket)).toMatchObject({ status: 200 })
})

const counts = new WeakMap<FakeIngest, number>()
function connections(ingest: FakeIngest): number | undefined {
  ingest.app.server.getConnections((_error, count) => counts.set(ingest, count))
  return counts.get(ingest)
}

test('a client that drips after its refusal is cut off', async () => {
  const ingest = slow({ requestMs: 60_000 })
  const taken = once(ingest.app.server, 'connection')
  const socket = await open(ingest)
  socket.write(head('Content-Length: 99999'))
  const drip = setInterval(() => socket.writable && socket.write('x'), 10)
  socket.on('error', () => {})
  await taken
  await until(() => connections(ingest) === 0, { message: 'the connection is closed' })
  clearInterval(drip)
})

test.each(['/%ff', 'http://', 'http://[::1', 'http://x:99999/v1', 'http://x/?a#b'])(
  'unfinished requests for a URL that cannot be read count for the client that a proxy names: %s',
  async (url) => {
    const ingest = fakeIngest({ door: { connections: 3, trustProxy: ['127.0.0.1'] } })
    for (let count = 0; count < 3; count++) {
      const socket = await open(ingest)
      socket.on('error', () => {})
      socket.write(head('X-Forwarded-For: 203.0.113.7\r\nContent-Length: 9', url))
      expect(String((await once(socket, 'data'))[0])).toContain(' 404 ')
    }
    const other = await open(ingest)
    other.write(head('X-Forwarded-For: 203.0.113.8\r\nConnection: close\r\nContent-Length: 0'))
    expect(await answerOf(other)).toMatchObject({ status: 400 })
  },
)

test('a client that does not read its answers is cut off', async () => {
  const ingest = slow()
  const taken = once(ingest.app.server, 'connection')
  const socket = await open(ingest)
  socket.pause()
  socket.on('error', () => {})
  const many = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000)
  socket.write(many)
  await taken
  await until(() => connections(ingest) === 0, { message: 'the connection is closed' })
})

test('a client that reads no answers cannot make ingest hold many requests', async () => {
  const ingest = fakeIngest({
    outcome: new Promise(() => {}),
    door: { waiting: { each: 2, all: 20 }, timeouts: { closingMs: 50 } },
  })
  const body = '{"userId":"u","event":"x"}'
  const call = head(`Content-Length: ${body.length}`) + body
  const patient = await open(ingest)
  patient.write(call)
  await until(() => ingest.produced.length === 1)
  const sockets = await Promise.all(Array.from({ length: 5 }, () => open(ingest)))
  for (const socket of sockets) {
    socket.on('error', () => {})
    socket.write(call.repeat(500))
  }
  const refused = () => value(ingest, 'sluice_ingest_connections_refused_total')
  await until(async () => (await refused()) === 5, { message: 'their connections are closed' })
  expect(ingest.produced.length).toBeLessThanOrEqual(1 + 5 * 20)
  await until(() => connections(ingest) === 1)
})

test('clients that do not read large answers cannot make ingest hold them', async () => {
  const ingest = fakeIngest({ door: { unreadBytes: 300_000, timeouts: { closingMs: 50 } } })
  const batch = JSON.stringify({
    batch: Array.from({ length: 2_500 }, (_, index) => 'x'.repeat(140) + index),
  })
  const body = gzipSync(batch)
  const request = Buffer.concat([
    Buffer.from(head(`Content-Encoding: gzip\r\nContent-Length: ${body.length}`, '/v1/batch')),
    body,
  ])
  const unread = async () => {
    const socket = await open(ingest)
    socket.on('error', () => {}).pause()
    socket.write(Buffer.concat(Array.from({ length: 60 }, () => request)))
  }
  await unread()
  await unread()
  await until(async () => (await value(ingest, 'sluice_ingest_connections_refused_total')) >= 1)
  await until(() => connections(ingest) === 1)
})

test('an idle connection stays open longer than those of load balancers', () => {
  expect(fakeIngest().app.server.keepAliveTimeout).toBeGreaterThan(60_000)
})

test('a connection above the limit replaces the oldest idle one, which is counted', async () => {
  const ingest = fakeIngest({ door: { connections: 1 } })
  const first = await open(ingest)
  const second = await open(ingest)
  await Promise.race([once(first, 'close'), once(first, 'end')])
  expect(await value(ingest, 'sluice_ingest_connections_refused_total')).toBe(1)
  expect(await value(ingest, 'sluice_ingest_connections')).toBe(1)
  second.write(head('Content-Length: 2\r\nConnection: close'))
  second.write('{}')
  expect(await answerOf(second)).toMatchObject({ status: 400 })
})

describe('the memory of requests is bounded', () => {
  const COUNT = 50
  /** V8 would keep a key of 13 or more characters as a part of the text that it was cut from. */
  const LONG_KEY = 'a-key-as-long-as-generated-ones'
  /** Bytes for each request whose body is not complete. */
  async function measured(text: (index: number) => string): Promise<{ kept: number; counted: number }> {
    const ingest = fakeIngest({ sources: [...sources, { id: 'long', writeKey: LONG_KEY, enabled: true }] })
    const sockets = []
    for (let count = 0; count < COUNT; count++) sockets.push(await open(ingest))
    let seen = 0
    ingest.app.server.on('request', () => {
      seen += 1
    })
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    const writes = sockets.map(
      (socket, index) => new Promise((written) => socket.write(`${text(index)}{`, written)),
    )
    await until(() => seen === COUNT)
    // a client keeps its text until then
    await Promise.all(writes)
    collectGarbage()
    const kept = (process.memoryUsage().heapUsed - before) / COUNT
    const counted = (await value(ingest, 'sluice_ingest_held_bytes')) / COUNT
    for (const socket of sockets) socket.destroy()
    await until(() => connections(ingest) === 0)
    return { kept, counted }
  }

  test('in headers and queries, names that are numbers take no more than others', async () => {
    const kept = async (names: readonly string[]) => {
      const fields = names.map((name) => `${name}: a\r\n`).join('')
      const text = head(`${fields}Content-Length: 10`, `/v1/track?${names.join('&')}`)
      return (await measured(() => text)).kept
    }
    await kept(['x850']) // compiles
    const others = await kept(['x850', 'x1533', 'x3322'])
    expect(await kept(['850', '1533', '3322'])).toBeLessThan(others + 10_000)
  })

  const long = 'x'.repeat(50_000)
  const query = (text: string) => () => head('Content-Length: 10', `/v1/track?data=${text}`)
  const names = (count: number, length: number) => (index: number) => {
    const fields = Array.from({ length: count }, (_, each) => `${index}-${each}-${'N'.repeat(length)}: a\r\n`)
    return head(`${fields.join('')}Content-Length: 10`)
  }
  test.each([
    ['values of headers', () => head(`a: ${long}\r\nContent-Length: 10`)],
    [
      'a long password',
      () => {
        const pair = Buffer.concat([Buffer.from(`${LONG_KEY}:`), Buffer.alloc(45_000, 0xff)])
        const authorization = `Authorization: Basic ${pair.toString('base64')}`
        return `POST /v1/track HTTP/1.1\r\nHost: x\r\n${authorization}\r\nContent-Length: 10\r\n\r\n`
      },
    ],
    ['long names of headers', names(50, 1_000)],
    ['many names of headers', names(190, 250)],
    ['a query', query(long)],
    ['a query with a plus sign', query(`+${long}`)],
    ['a query with an escape', query(`%41${long}`)],
    ['a query with a broken escape', query(`%${long}`)],
    ['a query with a character beyond Latin-1', query(`%e4%B8%AD${long}`)],
    ['a query with a byte that is not UTF-8', query(`%fF${long}`)],
    [
      'a query that is not read',
      () => `OPTIONS /v1/track?${long} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n`,
    ],
  ])('including %s', async (_, text) => {
    const plain = () => head('Content-Length: 10')
    await measured(plain) // compiles
    // what earlier tests leave behind is collected at any time, but what a request keeps is in each measurement
    let more = Number.POSITIVE_INFINITY
    let counted = 0
    for (let round = 0; round < 5 && more >= counted * 1.1; round++) {
      const [first, one] = [await measured(plain), await measured(text)]
      more = Math.min(more, one.kept - first.kept)
      counted = one.counted - first.counted
    }
    expect(more).toBeLessThan(counted * 1.1)
  })

  test('above the limit a request is refused, and accepted when others have ended', async () => {
    const ingest = fakeIngest({ door: { heldBytes: 28_000 } })
    const [first, second] = [await open(ingest), await open(ingest)]
    const body = JSON.stringify({ userId: 'u', event: 'x', properties: { a: 'x'.repeat(9_000) } })
    first.write(head(`Content-Length: ${body.length}\r\nConnection: close`) + body.slice(0, -1))
    await until(async () => (await value(ingest, 'sluice_ingest_held_bytes')) > 17_000)
    second.write(head(`Content-Length: ${body.length}\r\nConnection: close`) + body)
    expect(await answerOf(second)).toMatchObject({
      status: 503,
      headers: { 'retry-after': '2', 'access-control-allow-origin': '*' },
      body: expect.stringContaining('"unavailable"'),
    })
    first.write(body.slice(-1))
    expect(await answerOf(first)).toMatchObject({ status: 200 })
    expect(await value(ingest, 'sluice_ingest_held_bytes')).toBe(0)
  })

  test.each(['POST /v1/m', 'OPTIONS /v1/track', 'GET /livez', 'HEAD /v1/pixel/track'])(
    'including the headers of %s, whose body is discarded',
    async (line) => {
      const ingest = fakeIngest({ door: { heldBytes: 28_000 } })
      const [first, second] = [await open(ingest), await open(ingest)]
      const text = (length: number) =>
        `${line} HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(9_000)}\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`
      first.write(text(2))
      await until(async () => (await value(ingest, 'sluice_ingest_held_bytes')) > 17_000)
      second.write(`${text(1)}x`)
      expect(await answerOf(second)).toMatchObject({ status: 503 })
      first.write('xx')
      expect((await answerOf(first)).status).toBeLessThan(300)
      expect(await value(ingest, 'sluice_ingest_held_bytes')).toBe(0)
    },
  )

  test('including requests that wait for Kafka', async () => {
    const ingest = fakeIngest({
      outcome: new Promise(() => {}),
      door: { heldBytes: 12_000, timeouts: { closingMs: 20 } },
    })
    const [first, second] = [await open(ingest), await open(ingest)]
    const body = '{"userId":"u","event":"x"}'
    first.write(head(`Content-Length: ${body.length}`) + body)
    await until(() => ingest.produced.length === 1)
    second.write(head(`Content-Length: ${body.length}\r\nConnection: close`) + body)
    expect(await answerOf(second)).toMatchObject({ status: 503 })
  })
})

describe('nothing of an incomplete body is accepted', () => {
  const body = '{"userId":"u","event":"x"}'

  test('when the client closes its side', async () => {
    const ingest = fakeIngest()
    const socket = await open(ingest)
    socket.end(head(`Content-Length: ${body.length + 1}`) + body)
    expect(await answerOf(socket)).toMatchObject({
      status: 400,
      body: expect.stringContaining('"bad_request"'),
    })
    expect(ingest.produced).toEqual([])
    expect(await value(ingest, 'sluice_ingest_held_bytes')).toBe(0)
  })

  test('when the client is gone', async () => {
    const ingest = fakeIngest()
    const socket = await open(ingest)
    socket.write(`${head('Transfer-Encoding: chunked')}${body.length.toString(16)}\r\n${body}\r\n`)
    await until(async () => (await value(ingest, 'sluice_ingest_held_bytes')) > 0)
    socket.resetAndDestroy()
    await until(async () => (await value(ingest, 'sluice_ingest_held_bytes')) === 0)
    expect(ingest.produced).toEqual([])
  })
})

test('a slow client does not delay the shutdown', async () => {
  const ingest = fakeIngest({ door: { timeouts: { closingMs: 30 } } })
  const socket = await open(ingest)
  socket.on('error', () => {})
  socket.write(`${head('Content-Length: 100')}{`)
  await until(async () => (await value(ingest, 'sluice_ingest_held_bytes')) > 0)
  await ingest.app.close()
  expect(parseAnswers(await readAll(socket).catch(() => ''))).toEqual([])
})

test('a CONNECT does not delay the shutdown, even if the client leaves earlier answers unread', async () => {
  const ingest = fakeIngest({ door: { timeouts: { closingMs: 30 } } })
  const socket = await open(ingest)
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {}).pause()
  const connected = once(ingest.app.server, 'connect')
  const many = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(300)
  socket.write(`${many}CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n`)
  const accepted: Socket = (await connected)[1]
  let before = -1
  await until(() => {
    const passedOn = accepted.bytesWritten - accepted.writableLength
    const isStuck = accepted.writableLength > 0 && passedOn === before
    before = passedOn
    return isStuck
  })
  await ingest.app.close()
  expect(accepted.destroyed).toBe(true)
})

test.each([
  ['that says nothing', ''],
  ['in the middle of its headers', 'POST /v1/track HTTP/1.1\r\nHo'],
  ['between two requests', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'],
])('at shutdown a connection %s is closed at once', async (_what, text) => {
  const ingest = fakeIngest({ door: { timeouts: { closingMs: 60_000 } } })
  const socket = await open(ingest)
  socket.on('error', () => {})
  socket.write(text)
  await until(() => connections(ingest) === 1)
  if (text.endsWith('\r\n\r\n')) await once(socket, 'data')
  await ingest.app.close()
})

test('behind a proxy that adds ports, the discarded bodies of a client count as those of one network', async () => {
  // a network may hold three quarters: three requests of 8 KB
  const ingest = fakeIngest({
    door: { heldBytes: 40_000, trustProxy: ['127.0.0.1'], timeouts: { closingMs: 50 } },
  })
  const ask = async (port: number) => {
    const socket = await open(ingest)
    const fields = `Host: x\r\nX-Forwarded-For: 203.0.113.7:${port}\r\nContent-Length: 10`
    socket.write(`GET /livez HTTP/1.1\r\n${fields}\r\n\r\n{`)
    return socket
  }
  for (const held of [1, 2, 3]) {
    await ask(held)
    await until(async () => (await value(ingest, 'sluice_ingest_held_bytes')) > held * 8_192)
  }
  // ingest waits 10 s for the rest before it closes the connection
  const [answer] = await once(await ask(4), 'data')
  expect(String(answer)).toMatch(/^HTTP\/1.1 503 /)
})
