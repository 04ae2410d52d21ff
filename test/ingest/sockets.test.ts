import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { Produced } from '../../kafka/produce.ts'
import { until } from '../helpers/until.ts'
import { basic, type FakeIngest, fakeIngest } from './fake.ts'

const closing: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open({ app }: FakeIngest = fakeIngest()): Promise<Socket> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  // a TCP server's address is an object
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  closing.push(
    () => app.close(),
    () => socket.destroy(),
  )
  await once(socket, 'connect')
  return socket
}

async function readAll(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

const head = (fields: string) =>
  `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic('shop-key')}\r\n${fields}\r\n\r\n`

test('a 413 can be read by a client that goes on writing megabytes', async () => {
  const socket = await open()
  const size = 8 * 1024 * 1024
  socket.write(head(`Content-Length: ${size}`))
  const [answer] = await once(socket, 'data') // before anything of the body is sent
  expect(String(answer)).toMatch(/^HTTP\/1\.1 413 .*\r\n/)
  expect(String(answer)).toMatch(/connection: close/i)
  expect(String(answer)).toMatch(/"code":"call_too_large"/)
  for (let sent = 0; sent < size; sent += 64 * 1024)
    if (!socket.write(Buffer.alloc(64 * 1024))) await once(socket, 'drain')
  expect(await readAll(socket)).toBe('') // ends, and is not reset
})

test('so can that to a chunked body which turns out too large', async () => {
  const socket = await open()
  socket.write(head('Transfer-Encoding: chunked'))
  for (let i = 0; i < 100; i++) socket.write(`400\r\n${'x'.repeat(1024)}\r\n`)
  socket.write('0\r\n\r\n')
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 413 [\s\S]*"code":"call_too_large"/)
})

test('a chunked body without a length is taken', async () => {
  const socket = await open()
  const body = '{"userId":"u","event":"x"}'
  socket.write(
    `${head('Transfer-Encoding: chunked\r\nConnection: close')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  )
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"success":true\}$/)
})

test('what is no HTTP is answered in JSON, for browsers too', async () => {
  const socket = await open()
  socket.write('hello\r\n\r\n')
  expect(await readAll(socket)).toMatch(
    /^HTTP\/1\.1 400 [\s\S]*access-control-allow-origin: \*[\s\S]*"code":"bad_request"/i,
  )
})

test('a request under way when the process ends is answered, and its connection closed', async () => {
  const kafka = Promise.withResolvers<Produced>()
  const ingest = fakeIngest({ outcome: kafka.promise })
  const socket = await open(ingest)
  const body = '{"userId":"u","event":"x"}'
  socket.write(head(`Content-Length: ${body.length}`) + body)
  await until(() => ingest.produced.length === 1)
  const closed = ingest.app.close()
  await until(() => !ingest.app.server.listening)
  kafka.resolve('acked')
  expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*\{"success":true\}$/i)
  await closed
})
