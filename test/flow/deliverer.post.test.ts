import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aPoster } from '../helpers/poster.ts'
import { afterRequest, raw } from '../helpers/raw-receiver.ts'
import { aReceiver } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const LIMIT_MS = 400
// long: only slow answers may time out
const poster = ({ limitMs = 30_000, allow = ['127.0.0.0/8', '::1/128'] } = {}) => aPoster({ limitMs, allow })
const CLOSING = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'
const ENDLESS = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4e20\r\n${'x'.repeat(20_000)}`
const to = (url: string) => ({
  webhook: 'crm',
  urlIndex: 0,
  url,
  headers: { 'X-A': 'b' },
  body: '{"a":1}',
  retryOn: [],
})

/** Its process is stopped and its backlog full. */
async function stopped() {
  const program = `const server = require('node:http').createServer((request, response) => response.end())
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const port = Number(String(await once(child.stdout, 'data')))
  child.kill('SIGSTOP')
  const ignored = () => {
    const to = `:${port.toString(16).toUpperCase().padStart(4, '0')} 02 ` // 02: a connection asked for
    return readFileSync('/proc/net/tcp', 'utf8').split(to).length - 1
  }
  while (ignored() === 0) {
    const waiting = connect(port, '127.0.0.1').on('error', () => {})
    onTestFinished(() => void waiting.destroy())
    await until(() => waiting.readyState === 'open' || ignored() === 1)
  }
  return { port, ignored, goOn: () => child.kill('SIGCONT') }
}

describe('a POST', () => {
  test('is delivered by a 2xx and rejected by a 4xx, with the head of the response', async () => {
    const receiver = await aReceiver()
    const taken = await poster().post(to(`${receiver.url}/status/202`))
    expect([taken.outcome, await taken.response]).toEqual([
      { outcome: 'delivered', status: 202 },
      'answered 202',
    ])
    const { outcome, response } = await poster().post(to(`${receiver.url}/status/404`))
    expect([outcome, await response]).toEqual([
      { outcome: 'rejected', status: 404, code: 'http_404' },
      'answered 404',
    ])
    expect(receiver.arrivals.slice(0, 1)).toMatchObject([{ body: '{"a":1}', headers: { 'x-a': 'b' } }])
  })

  test('never follows redirects', async () => {
    const elsewhere = await aReceiver()
    const url = await afterRequest((socket) =>
      socket.end(`HTTP/1.1 302 Found\r\nLocation: ${elsewhere.url}/\r\nContent-Length: 0\r\n\r\n`),
    )
    expect((await poster().post(to(url))).outcome).toEqual({
      outcome: 'rejected',
      status: 302,
      code: 'http_302',
    })
    expect(elsewhere.arrivals).toEqual([])
  })

  test('ends at the time limit without an answer, with incomplete headers, and with only interim responses', async () => {
    const silent = await raw(() => undefined)
    const half = await afterRequest((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Le'))
    const informational = await afterRequest((socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'))
    for (const url of [silent, half, informational]) {
      const { outcome, durationMs } = await poster({ limitMs: LIMIT_MS }).post(to(url))
      expect(outcome).toEqual({ outcome: 'retry', code: 'timeout' })
      expect(durationMs).toBeGreaterThanOrEqual(LIMIT_MS - 5)
      expect(durationMs).toBeLessThan(30_000)
    }
  })

  test('is delivered by the headers of an answer with an endless body, and closes the connection', async () => {
    let closed = false
    const url = await afterRequest((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n.\r\n')
      const drops = setInterval(() => socket.write('1\r\n.\r\n'), 20)
      socket.on('close', () => {
        closed = true
        clearInterval(drops)
      })
    })
    const { outcome, response } = await poster().post(to(url))
    expect(outcome).toEqual({ outcome: 'delivered', status: 200 })
    expect(await response).toMatch(/^\.+$/)
    await until(() => closed)
  })

  test('reads only a little of a huge answer', async () => {
    let closed = false
    const url = await afterRequest((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n${'x'.repeat(100_000)}`)
      socket.on('close', () => {
        closed = true
      })
    })
    const { response } = await poster().post(to(url))
    expect(await response).toBe('x'.repeat(1_024))
    await until(() => closed)
  })

  test.each([
    ['what is not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', 'protocol_error'],
    ['headers without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(40_000)}`, 'protocol_error'],
  ])('that is answered with %s is retried', async (_, answer, code) => {
    const url = await afterRequest((socket) => socket.write(answer))
    expect((await poster().post(to(url))).outcome).toEqual({ outcome: 'retry', code })
  })

  test.skipIf(process.platform !== 'linux')(
    'waits for a connection that takes a second, even if the name also has an address that refuses',
    async () => {
      const receiver = await stopped()
      const posting = poster().post(to(`http://localhost:${receiver.port}/`))
      // the first SYN was ignored; the next comes after a second
      await until(() => receiver.ignored() === 2)
      receiver.goOn()
      const { outcome, durationMs } = await posting
      expect(outcome).toEqual({ outcome: 'delivered', status: 200 })
      expect(durationMs).toBeGreaterThan(500)
    },
  )

  test('that is reset, cut off or refused is retried', async () => {
    const reset = await afterRequest((socket) => socket.resetAndDestroy())
    const cut = await afterRequest((socket) => socket.end())
    const outcomes = await Promise.all(
      [reset, cut, 'http://127.0.0.1:1/'].map(async (url) => (await poster().post(to(url))).outcome),
    )
    expect(outcomes).toEqual(
      ['ECONNRESET', 'connection_closed', 'ECONNREFUSED'].map((code) => ({ outcome: 'retry', code })),
    )
  })

  test.each([
    ['refused', async () => 'http://127.0.0.1:1/', 'ECONNREFUSED'],
    ['reset', () => afterRequest((socket) => socket.resetAndDestroy()), 'ECONNRESET'],
    ['cut off', () => afterRequest((socket) => socket.end()), 'connection_closed'],
    ['answered and closed', () => afterRequest((socket) => socket.end(CLOSING)), undefined],
    ['answered without end', () => afterRequest((socket) => socket.write(ENDLESS)), undefined],
  ])(
    'that was %s may be followed by another in the same turn of the event loop',
    async (_, receiver, code) => {
      const outcomes = await poster().chain(to(await receiver()), 5)
      expect(outcomes.map((outcome) => ('code' in outcome ? outcome.code : undefined))).toEqual(
        Array(5).fill(code),
      )
    },
  )

  test('to a forbidden address is refused, by number and by name, each time', async () => {
    const receiver = await aReceiver()
    const { port } = new URL(receiver.url)
    const guarded = poster({ allow: [] })
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]'])
      for (let time = 0; time < 2; time++)
        expect((await guarded.post(to(`http://${host}:${port}/`))).outcome).toEqual({
          outcome: 'refused',
          code: 'address_forbidden',
        })
    expect(receiver.arrivals).toEqual([])
  })
})
