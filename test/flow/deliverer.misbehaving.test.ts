import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { Request } from '../../delivery/request.ts'
import { aPoster } from '../helpers/poster.ts'
import { afterRequest, keepWriting, raw } from '../helpers/raw-receiver.ts'
import { until } from '../helpers/until.ts'

// even a busy machine connects and sends the request within it
const LIMIT_MS = 2_000
// long: only slow answers may time out
const LONG_MS = 60_000
const poster = (limitMs = LONG_MS) => aPoster({ limitMs, allow: ['127.0.0.0/8'] })
const to = (url: string, more: Partial<Request> = {}): Request => ({
  webhook: 'd',
  urlIndex: 0,
  url,
  headers: {},
  body: '{"a":1}',
  retryOn: [],
  ...more,
})
const answering = (text: string) => afterRequest((socket) => socket.write(text))
/** Each piece arrives by itself. */
function writeEach(socket: Socket, [piece, ...rest]: readonly string[]): void {
  if (piece !== undefined) socket.write(piece, () => setTimeout(() => writeEach(socket, rest), 20))
}
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const delivered = (status = 200) => ({ outcome: 'delivered', status })
const rejected = (status: number) => ({ outcome: 'rejected', status, code: `http_${status}` })
const retry = (code: string, status?: number) => ({ outcome: 'retry', code, ...(status && { status }) })

async function watched(answer: (socket: Socket) => void) {
  let closed = false
  const url = await afterRequest((socket) => {
    socket.on('close', () => {
      closed = true
    })
    answer(socket)
  })
  return { url, letGo: () => until(() => closed) }
}

describe('headers', () => {
  test('that arrive byte by byte but in time are a delivery', async () => {
    const url = await afterRequest((socket) => {
      const bytes = [...OK]
      const drops = setInterval(() => socket.write(bytes.shift() ?? ''), 3)
      socket.on('close', () => clearInterval(drops))
    })
    const { outcome, durationMs } = await poster().post(to(url))
    expect(outcome).toEqual(delivered())
    expect(durationMs).toBeGreaterThan(50)
  })

  test('that drip endlessly are cut off at the time limit', async () => {
    const { url, letGo } = await watched((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nX-Slow: ')
      keepWriting(socket, 'x', 5)
    })
    const { outcome, durationMs } = await poster(LIMIT_MS).post(to(url))
    expect(outcome).toEqual(retry('timeout'))
    expect(durationMs).toBeLessThan(LIMIT_MS * 10)
    await letGo()
  })

  test('that never end, in one line or in many, are a protocol error', async () => {
    for (const line of ['x'.repeat(16_000), 'X-Again: and again\r\n'.repeat(800)]) {
      const { url, letGo } = await watched((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nX-First: ')
        keepWriting(socket, line, 0)
      })
      expect((await poster().post(to(url))).outcome).toEqual(retry('protocol_error'))
      await letGo()
    }
  })
})

describe('a body', () => {
  test('that never ends is cut off; the headers count as delivery', async () => {
    const { url, letGo } = await watched((socket) => {
      socket.write(CHUNKED)
      keepWriting(socket, `4000\r\n${'x'.repeat(16 * 1_024)}\r\n`, 0)
    })
    const startedAt = performance.now()
    const { outcome, response } = await poster().post(to(url))
    expect([outcome, await response]).toEqual([delivered(), 'x'.repeat(1_024)])
    await letGo()
    // long before the limit
    expect(performance.now() - startedAt).toBeLessThan(LONG_MS / 2)
  })

  test.each([
    ['chunk extensions', '1;a=', 'x'.repeat(16_000)],
    ['a chunk length', '', '0'.repeat(16_000)],
    ['trailers', '0\r\n', 'X-Again: and again\r\n'.repeat(800)],
  ])('that never begins after endless %s is a protocol error and is cut off', async (_, begin, more) => {
    const { url, letGo } = await watched((socket) => {
      socket.write(CHUNKED + begin)
      keepWriting(socket, more, 0)
    })
    const startedAt = performance.now()
    const { outcome, response } = await poster().post(to(url))
    expect([outcome, await response]).toEqual([retry('protocol_error'), null])
    await letGo()
    expect(performance.now() - startedAt).toBeLessThan(LONG_MS / 2)
  })

  test('that is missing, broken off, or different from its headers changes nothing', async () => {
    const reset = (head: string) =>
      afterRequest((socket) => {
        socket.write(head)
        setTimeout(() => socket.resetAndDestroy(), 50)
      })
    const urls = [
      await reset('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n'),
      await reset(`${CHUNKED}5\r\nabc`),
      await answering(`${CHUNKED}not a length\r\n`),
      await afterRequest((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc')),
    ]
    for (const url of urls) {
      const { outcome, response } = await poster().post(to(url))
      expect(outcome).toEqual(delivered())
      expect((await response) ?? '').toMatch(/^(abc)?$/)
    }
  })

  test('of a 204 is a protocol error, and is not read as the answer to the next POST', async () => {
    for (const body of [
      'Content-Length: 5\r\n\r\nhello',
      'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ]) {
      const url = await raw((socket) =>
        socket.on('data', () => socket.write(`HTTP/1.1 204 No Content\r\n${body}`)),
      )
      const client = poster()
      for (let attempt = 1; attempt <= 2; attempt++) {
        const { outcome, response } = await client.post(to(url))
        expect(outcome).toEqual(retry('protocol_error', 204))
        await response
      }
    }
  })

  test('of a request that the receiver never reads ends at the time limit', async () => {
    const url = await raw((socket) => socket.pause())
    const { outcome } = await poster(LIMIT_MS).post(to(url, { body: 'x'.repeat(8_000_000) }))
    expect(outcome).toEqual(retry('timeout'))
  })

  test('of a request need not be read for an answer to count', async () => {
    const url = await afterRequest((socket) => {
      socket.pause()
      socket.end('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    })
    expect((await poster().post(to(url, { body: 'x'.repeat(8_000_000) }))).outcome).toEqual(rejected(413))
  })
})

describe('interim responses (1xx)', () => {
  const HINT = 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n'

  test('by the hundred are no answer, and do not hide the final one', async () => {
    expect((await poster().post(to(await answering(HINT.repeat(500) + OK)))).outcome).toEqual(delivered())
  })

  test('beyond 64 KB are a protocol error', async () => {
    const { url, letGo } = await watched((socket) => keepWriting(socket, HINT.repeat(1_000), 0))
    expect((await poster().post(to(url))).outcome).toEqual(retry('protocol_error'))
    await letGo()
  })

  test('that never end are cut off at the time limit', async () => {
    // within the limit, far less than 64 KB
    const { url, letGo } = await watched((socket) => keepWriting(socket, HINT, 20))
    expect((await poster(LIMIT_MS).post(to(url))).outcome).toEqual(retry('timeout'))
    await letGo()
  })

  // as IIS does, and proxies that add Expect
  const CONTINUE = 'HTTP/1.1 100 Continue\r\nServer: old\r\n\r\n'

  test.each([
    ['once', [CONTINUE + OK]],
    ['in several pieces', [CONTINUE, OK]],
    ['several times, among others', [CONTINUE + HINT + CONTINUE, CONTINUE + CONTINUE + OK]],
    ['in single bytes', [...(HINT + CONTINUE + OK)]],
    ['cut in its status', [`${CONTINUE}HTTP/1.1 10`, CONTINUE.slice(11) + OK]],
    ['cut in the line before it', [HINT.slice(0, -1), `\n${CONTINUE}${OK}`]],
  ])('may be 100 Continue, although nothing asked for it: %s', async (_, pieces) => {
    const url = await afterRequest((socket) => writeEach(socket, pieces))
    const { outcome, response } = await poster().post(to(url))
    expect([outcome, await response]).toEqual([delivered(), 'ok'])
  })

  test('of 100 Continue do not hide a failure', async () => {
    const url = await answering(`${CONTINUE}HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n`)
    expect((await poster().post(to(url))).outcome).toEqual(retry('http_5xx', 503))
  })

  test('of 100 Continue alone are no answer', async () => {
    expect((await poster(LIMIT_MS).post(to(await answering(CONTINUE)))).outcome).toEqual(retry('timeout'))
  })

  test('of 100 Continue leave the connection usable', async () => {
    let connections = 0
    const url = await raw((socket) => {
      connections += 1
      socket.on('data', () => socket.write(CONTINUE + OK))
    })
    const client = poster()
    for (let post = 1; post <= 2; post++) {
      const { outcome, response } = await client.post(to(url))
      expect([outcome, await response]).toEqual([delivered(), 'ok'])
    }
    expect(connections).toBe(1)
  })

  const BEFORE_TEXT = `HTTP/1.1 200 OK\r\nContent-Length: ${CONTINUE.length}\r\n\r\n`

  test.each([
    ['after the headers', [BEFORE_TEXT, CONTINUE]],
    ['with the headers', [BEFORE_TEXT + CONTINUE]],
  ])('that are only text in a body stay as they are: %s', async (_, pieces) => {
    const url = await afterRequest((socket) => writeEach(socket, pieces))
    const { outcome, response } = await poster().post(to(url))
    expect([outcome, await response]).toEqual([delivered(), CONTINUE])
  })

  test('of 101 Switching Protocols, without a request for it, are a protocol error', async () => {
    const url = await answering(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n${OK}`,
    )
    expect((await poster().post(to(url))).outcome).toEqual(retry('protocol_error'))
  })
})

describe('an answer', () => {
  test.each([
    ['of HTTP/0.9', '<html>hello</html>\n'],
    ['of no known version', 'HTTP/9.9 200 OK\r\n\r\n'],
    ['with a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['with a status below 100', 'HTTP/1.1 042 Odd\r\nContent-Length: 0\r\n\r\n'],
    ['with two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello'],
    [
      'with a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['with a NUL in a header', 'HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n'],
    ['with a header that has no name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
  ])('%s is a protocol error', async (_, text) => {
    expect((await poster().post(to(await answering(text)))).outcome).toEqual(retry('protocol_error'))
  })

  test('with a status of 600 or above counts as 5xx', async () => {
    const url = await answering('HTTP/1.1 999 Request denied\r\nContent-Length: 0\r\n\r\n')
    expect((await poster().post(to(url))).outcome).toEqual(retry('http_5xx', 999))
  })

  test('with Retry-After is retried if the destination wants it, and rejected otherwise', async () => {
    const url = await raw((socket) =>
      socket.on('data', () =>
        socket.write('HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n'),
      ),
    )
    const client = poster()
    expect((await client.post(to(url, { retryOn: [429] }))).outcome).toEqual({
      ...retry('http_429', 429),
      retryAfterMs: 7_000,
    })
    expect((await client.post(to(url))).outcome).toEqual(rejected(429))
  })
})

describe('a kept-alive connection', () => {
  async function three(answer: (socket: Socket) => void): Promise<unknown[]> {
    let closed = 0
    const url = await raw((socket) => {
      socket.on('data', () => answer(socket)).on('close', () => closed++)
    })
    const client = poster()
    const answers = []
    for (let post = 1; post <= 3; post++) {
      const { outcome, response } = await client.post(to(url))
      answers.push([outcome, await response])
      await until(() => closed === post)
    }
    return answers
  }
  const three200 = [1, 2, 3].map(() => [delivered(), 'ok'])
  const SECOND = 'HTTP/1.1 503 Not yours\r\nContent-Length: 0\r\n\r\n'

  test('with two answers is closed: the second never answers the next POST', async () => {
    expect(await three((socket) => socket.write(OK + SECOND))).toEqual(three200)
    expect(
      await three((socket) => {
        socket.write(OK)
        setTimeout(() => socket.write(SECOND), 30)
      }),
    ).toEqual(three200)
  })

  test('never answers the next POST with a second response still unread when that POST begins', async () => {
    let last: Socket | undefined
    const url = await raw((socket) => {
      last = socket
      socket.on('data', () => socket.write(OK))
    })
    const outcomes = await poster().chain(to(url), 6, () => last?.write(SECOND))
    expect(outcomes).toEqual(Array(6).fill(delivered()))
  })

  test('is reused by its own webhook, and by no other webhook of the same host', async () => {
    let connections = 0
    const url = await raw((socket) => {
      connections += 1
      socket.on('data', () => socket.write(OK))
    })
    const client = poster()
    for (const webhook of ['crm', 'erp', 'crm', 'erp']) {
      const { outcome, response } = await client.post(to(url, { webhook }))
      expect([outcome, await response]).toEqual([delivered(), 'ok'])
    }
    expect(connections).toBe(2)
  })

  test('that closes between two POSTs costs nothing', async () => {
    expect(
      await three((socket) => {
        socket.write(OK)
        setTimeout(() => socket.end(), 30)
      }),
    ).toEqual(three200)
  })

  test('that closes during the next POST: it is retried, as it may not have arrived', async () => {
    for (const close of ['end', 'resetAndDestroy'] as const) {
      const url = await raw((socket) => {
        socket.once('data', () => {
          socket.write(OK)
          socket.once('data', () => socket[close]())
        })
      })
      const client = poster()
      const first = await client.post(to(url))
      expect([first.outcome, await first.response]).toEqual([delivered(), 'ok'])
      const code = close === 'end' ? 'connection_closed' : 'ECONNRESET'
      expect((await client.post(to(url))).outcome).toEqual(retry(code))
      expect((await client.post(to(url))).outcome).toEqual(delivered())
    }
  })
})

describe('a failure counts for the host or for the webhook', () => {
  const facts = async (client: ReturnType<typeof poster>, url: string) => {
    const { outcome, sent, isNew, response } = await client.post(to(url))
    await response
    return ['code' in outcome ? outcome.code : outcome.outcome, sent, isNew]
  }

  test('depending on whether the request was sent, which needs a connection', async () => {
    const url = await raw((socket) => socket.on('data', () => socket.write(OK)))
    const nobody = 'http://127.0.0.1:1/'
    expect(await facts(poster(), nobody)).toEqual(['ECONNREFUSED', false, false])
    expect(await facts(poster(), 'http://name.invalid/')).toEqual([expect.any(String), false, false])
    // it does not speak TLS
    expect(await facts(poster(LIMIT_MS), url.replace('http:', 'https:'))).toEqual([
      expect.any(String),
      false,
      false,
    ])
  })

  test('for the webhook when it hangs or resets, and each new connection is reported', async () => {
    expect(await facts(poster(LIMIT_MS), await raw(() => undefined))).toEqual(['timeout', true, true])
    const reset = await afterRequest((socket) => void socket.resetAndDestroy())
    expect(await facts(poster(), reset)).toEqual(['ECONNRESET', true, true])
    const client = poster()
    const url = await raw((socket) => socket.on('data', () => socket.write(OK)))
    expect([await facts(client, url), await facts(client, url)]).toEqual([
      ['delivered', true, true],
      ['delivered', true, false],
    ])
  })
})
