import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import fastify from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { addPath, operation } from '../../../control/api/operation.ts'
import { limitServer, SERVER_LIMITS } from '../../../control/api/server-limits.ts'
import { takeStreams, textOf } from '../../../control/tasks/audiences/upload-operations.ts'
import { until } from '../../helpers/until.ts'
import { head, listen } from '../wire.ts'

/** Reads the first piece, and has seen enough. @param answering when it answers. */
const upload = (answering: Promise<void>) =>
  operation({
    summary: 'An upload',
    body: { required: true, types: { 'text/plain': z.string() } },
    responses: {},
    async handle(request) {
      const read = textOf(request)
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

/** @param when of both requests: at once unless told. */
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

/** Longer than a test may take: what would end by it fails. */
const NEVER_MS = 600_000

const chunked = head('PUT / HTTP/1.1', { 'Content-Type': 'text/plain', 'Transfer-Encoding': 'chunked' })
const CHUNK = '7\r\nuser-1\n\r\n'

const plain = Buffer.alloc(2_000_000, 'user-1\n')
test.each<[string, Record<string, string>, Buffer]>([
  ['as it is', {}, plain],
  // of what is random nothing gets smaller
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

test('its rest is not read for ever', async () => {
  const { open } = await refusing({ requestMs: 200 })
  const socket = open(`${chunked}${CHUNK}`)
  const [chunk] = await once(socket, 'data')
  expect(String(chunk)).toMatch(/^HTTP\/1.1 400 /)
  const drip = setInterval(() => socket.write(CHUNK), 20)
  onTestFinished(() => clearInterval(drip))
  // not `once`: it may be reset
  await until(() => socket.closed)
})

test('what has ended in time has no bearing on what comes later on the connection', async () => {
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

test('who has ended a body, and asked for more, is answered before the process ends', async () => {
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

test('a connection that is gone is not waited for', async () => {
  const { app, open } = await refusing({ requestMs: 60_000 })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const taken = once(app.server, 'connection')
  const socket = open(`${chunked}${CHUNK}`)
  const [connection] = await taken
  await once(socket, 'data')
  // not `once`: what Node makes of a request that breaks off is an error first
  const closed = new Promise((resolve) => connection.once('close', resolve))
  socket.destroy()
  await closed
  const destroy = vi.spyOn(connection, 'destroy')
  vi.advanceTimersByTime(120_000)
  expect(destroy).not.toHaveBeenCalled()
})
