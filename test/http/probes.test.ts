import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { answerOps, limitCollections, serveOps } from '../../http/probes.ts'

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

async function dial(sent: string) {
  const probe = { notReady: () => undefined }
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

test.each(['Content-Length: 9', 'Transfer-Encoding: chunked'])(
  'a request with a body is refused, and the body is not read: %s',
  async (field) => {
    const socket = await dial(`POST /livez HTTP/1.1\r\nHost: a\r\n${field}\r\n\r\n`)
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /)
  },
)
