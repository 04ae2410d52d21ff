import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setInterval } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { answerOps, limitCollections, type Probe, serveOps } from '../../http/probes.ts'

/** Times in ms. */
function metrics() {
  let collections = 0
  let now = 0
  const collected = limitCollections(
    async () => `collection ${++collections}`,
    () => now,
  )
  const askAt = (at: number) => {
    now = at
    return collected()
  }
  return { askAt, collections: () => collections }
}

test('concurrent requests for metrics share one collection', async () => {
  const { askAt, collections } = metrics()
  const answers = await Promise.all([askAt(0), askAt(0), askAt(0)])
  expect(answers).toEqual(['collection 1', 'collection 1', 'collection 1'])
  expect(await askAt(0)).toBe('collection 2')
  expect(collections()).toBe(2)
})

test('a flood of requests gets copies of the latest metrics, and later ones are new', async () => {
  const { askAt, collections } = metrics()
  for (let times = 0; times < 100; times++) await askAt(0)
  expect(collections()).toBe(20)
  expect(await askAt(249)).toBe('collection 20')
  expect(await askAt(250)).toBe('collection 21')
  expect(await askAt(250)).toBe('collection 21')
})

test('a collection that fails does not stop the next one', async () => {
  let failures = 0
  const collected = limitCollections(
    async () => {
      if (failures++ === 0) throw new Error('a collector failed')
      return 'collection'
    },
    () => 0,
  )
  await expect(collected()).rejects.toThrow('a collector failed')
  expect(await collected()).toBe('collection')
})

test('clients share the bytes of the metrics', async () => {
  const probe = { notReady: () => undefined }
  const [one, other] = await Promise.all([answerOps('/metrics', probe), answerOps('/metrics', probe)])
  expect(one.body).toBeInstanceOf(Buffer)
  expect(one.body).toBe(other.body)
})

const GET = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n'
const WITHOUT_HOST = GET.replace('Host: a\r\n', '')

async function dial(sent: string, probe: Probe = { notReady: () => undefined }) {
  const { port, close } = await serveOps({ host: '127.0.0.1', port: 0, probe })
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(async () => {
    socket.destroy()
    await close()
  })
  await once(socket, 'connect')
  socket.write(sent)
  return socket
}

test('a request without Host is refused', async () => {
  expect(await text(await dial(WITHOUT_HOST))).toMatch(/^HTTP\/1.1 400 /)
})

test.each([
  ['answered', GET, 200],
  ['unknown', GET.replace('/livez', '/'), 404],
])(
  'each connection is closed after one answer, so a flood does not delay probes: %s',
  async (_what, request, status) => {
    const answers = await text(await dial(request + GET))
    expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`])
  },
)

test.each([
  ['without Host', WITHOUT_HOST],
  ['with an expectation', GET.replace('Host: a', 'Host: a\r\nExpect: miracles')],
])('requests that Node would answer itself count as waiting: %s', async (_what, request) => {
  const socket = await dial(GET.repeat(4) + request)
  expect(await text(socket).catch(() => '')).toBe('')
})

const post = (field: string) => `POST /livez HTTP/1.1\r\nHost: a\r\n${field}\r\n\r\n`

test.each(['Content-Length: 9', 'Transfer-Encoding: chunked'])(
  'a request with a body is refused, and its body is not awaited: %s',
  async (field) => {
    expect(await text(await dial(post(field)))).toMatch(/^HTTP\/1.1 400 .*\r\nconnection: close\r\n/)
  },
)

test('a body is not read while an earlier answer is unread', async () => {
  // or the connection would be closed because the answer is unread
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const large = 'x'.repeat(16 * 1024 * 1024)
  const socket = await dial(GET.replace('livez', 'readyz'), { notReady: () => large })
  await once(socket, 'readable')
  socket.write(post('Transfer-Encoding: chunked'))
  for await (const _ of setInterval(20)) {
    if (socket.destroyed) break
    socket.write('1\r\nx\r\n')
  }
})
