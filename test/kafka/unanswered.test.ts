import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, type TestContext, test, vi } from 'vitest'
import '../../kafka/client.ts' // has the client close them
import { Kafka, logLevel } from '../../kafka/patches/kafkajs.ts'
import { isAlive } from '../../kafka/patches/network/unanswered.ts'
import { quiet } from '../helpers/kafkajs.ts'
import { until } from '../helpers/until.ts'

const require = createRequire(import.meta.url)
const Connection = require('kafkajs/src/network/connection')
const createSocketFactory = require('kafkajs/src/network/socketFactory')
const Encoder = require('kafkajs/src/protocol/encoder')

const request = {
  request: {
    apiKey: 3,
    apiVersion: 0,
    apiName: 'Metadata',
    encode: async () => new Encoder(),
  },
  response: { decode: async () => ({}), parse: async () => ({}) },
}

const settings = {
  clientId: 'test',
  logger: quiet,
  socketFactory: createSocketFactory(),
  requestTimeout: 50,
  enforceRequestTimeout: true,
  // connections take no time, unless this process is held up
  connectionTimeout: 10_000,
}

type Listener = { port: number; connections: () => number }

const silent = (context: TestContext) => listener(context, () => undefined)

/** @param onConnection gets all connections, the new one last */
async function listener(
  { onTestFinished }: TestContext,
  onConnection: (sockets: readonly Socket[]) => void,
): Promise<Listener> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.resume())
    onConnection(sockets)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  // a TCP server's address is an object
  return { port: (server.address() as AddressInfo).port, connections: () => sockets.length }
}

/** Size, correlation id, and an empty body (ApiVersions 0). */
const answerTo = (id: number) => Buffer.from([0, 0, 0, 10, 0, 0, 0, id, 0, 0, 0, 0, 0, 0])

test.concurrent('a broker that does not answer in time counts as gone for all requests', async (context) => {
  const { port } = await silent(context)
  const connection = new Connection({ ...settings, host: '127.0.0.1', port })
  await connection.connect()
  const failures = await Promise.allSettled([
    connection.send(request),
    connection.send({ ...request, requestTimeout: 60_000 }),
  ])
  const names = failures.map((failure) => failure.status === 'rejected' && failure.reason.name)
  expect(names).toEqual(['KafkaJSConnectionClosedError', 'KafkaJSConnectionClosedError'])
  expect(failures).toMatchObject([{ reason: { host: '127.0.0.1', port } }, {}])
  expect(connection.isConnected()).toBe(false)
  await connection.connect()
  expect(connection.isConnected()).toBe(true)
  await connection.disconnect()
})

test.concurrent('a client whose first broker is silent asks the next one', async (context) => {
  const [first, second] = [await silent(context), await silent(context)]
  const kafka = new Kafka({
    brokers: [first, second].map(({ port }) => `127.0.0.1:${port}`),
    requestTimeout: 50,
    connectionTimeout: 10_000,
    // the second try is also the last
    retry: { initialRetryTime: 10, maxRetryTime: 10, retries: 1 },
    logLevel: logLevel.NOTHING,
  })
  await expect(kafka.admin().connect()).rejects.toThrow()
  // more than one if this process is held up for a second, because then both are probed
  for (const broker of [first, second]) expect(broker.connections()).toBeGreaterThanOrEqual(1)
})

test.concurrent('a broker that does not answer a probe is given up long before its request times out', async (context) => {
  const { port } = await silent(context)
  const connection = new Connection({ ...settings, requestTimeout: 600_000, host: '127.0.0.1', port })
  await connection.connect()
  await expect(connection.send(request)).rejects.toMatchObject({ name: 'KafkaJSConnectionClosedError' })
  expect(connection.isConnected()).toBe(false)
})

test.concurrent('a probe is not probed itself', async (context) => {
  const { port, connections } = await silent(context)
  const broker = { ...settings, host: 'kafka', port, ssl: null }
  expect(await isAlive(broker, '127.0.0.1')).toBe(false)
  expect(connections()).toBe(1)
})

test.concurrent('a broker that was given up gets no new connection until it answers a probe', async (context) => {
  const asked: Socket[] = []
  const { port } = await listener(context, (sockets) => {
    const socket = sockets.at(-1)
    socket?.once('data', () => asked.push(socket))
  })
  const connection = new Connection({ ...settings, requestTimeout: 600_000, host: '127.0.0.1', port })
  await connection.connect()
  await expect(connection.send(request)).rejects.toThrow()
  // kafkajs tries another broker after errors of this name
  await expect(connection.connect()).rejects.toMatchObject({
    name: 'KafkaJSConnectionError',
    message: 'The broker does not answer',
  })
  // a probe outlasts the attempts to connect that wait for it
  await until(() => {
    for (const socket of asked) socket.write(answerTo(0))
    return connection.connect().catch(() => false)
  })
  await connection.disconnect()
})

test.concurrent('a broker that was given up may come back at another address', async (context) => {
  const before = await silent(context)
  const after = await listener(context, (sockets) => {
    const socket = sockets.at(-1)
    socket?.on('data', () => socket.write(answerTo(0)))
  })
  let { port } = before
  const socketFactory = ({ onConnect, ...at }: { host: string; port: number; onConnect: () => void }) =>
    createConnection(at.host === 'kafka' ? { host: '127.0.0.1', port } : at, onConnect)
  const options = { ...settings, requestTimeout: 600_000, socketFactory }
  const connection = new Connection({ ...options, host: 'kafka', port })
  await connection.connect()
  await expect(connection.send(request)).rejects.toThrow()
  port = after.port
  await until(() => connection.connect().catch(() => false))
  await connection.disconnect()
})

test.concurrent('a broker that completes no TLS handshake is given up', async (context) => {
  const { port } = await silent(context)
  const connection = new Connection({
    ...{ ...settings, connectionTimeout: 2_000, host: '127.0.0.1', port },
    ssl: { rejectUnauthorized: false },
  })
  const refused = () =>
    connection.connect().catch(({ message }: Error) => message === 'The broker does not answer')
  await until(refused)
})

/** No request has this correlation id. */
const NOBODYS = 255

for (const [what, meet] of [
  ['says that it is there', (asked: Socket) => void asked.once('data', () => asked.write(answerTo(0)))],
  ['takes no more connections', (asked: Socket) => void asked.destroy()],
] as const)
  test.concurrent(`a slow one that ${what} may take its time`, async (context) => {
    const { port, connections } = await listener(context, ([slow, ...others]) => {
      const asked = others.at(-1)
      if (asked) meet(asked)
      // by then the first probe counts as answered
      if (others.length === 2) slow?.write(answerTo(0))
    })
    const connection = new Connection({ ...settings, requestTimeout: 600_000, host: '127.0.0.1', port })
    await connection.connect()
    await expect(connection.send(request)).resolves.toEqual({})
    expect(connections()).toBeGreaterThanOrEqual(3)
    await connection.disconnect()
  })

test.concurrent('a broker that answers on this connection but accepts no new one may take its time', async (context) => {
  let slow: Socket | undefined
  const { port, connections } = await listener(context, (sockets) => {
    slow = sockets[0]
    // it has not answered the probe, and is probed again
    if (sockets.length === 3) slow?.write(answerTo(0))
  })
  const connection = new Connection({ ...settings, requestTimeout: 600_000, host: '127.0.0.1', port })
  await connection.connect()
  const slowly = connection.send(request)
  const others = setInterval(() => {
    const id = connection.correlationId
    connection.send(request).catch(() => undefined)
    slow?.write(answerTo(id))
  }, 200)
  context.onTestFinished(() => clearInterval(others))
  await expect(slowly).resolves.toEqual({})
  expect(connections()).toBeGreaterThanOrEqual(3)
  clearInterval(others)
  await connection.disconnect()
})

test.concurrent('a broker that answers other requests may take its time, whenever each request asks', async (context) => {
  let slow: Socket | undefined
  const { port, connections } = await listener(context, (sockets) => {
    slow = sockets[0]
    if (sockets.length === 3) for (let id = 0; id < waiting.length; id++) slow?.write(answerTo(id))
  })
  const connection = new Connection({ ...settings, requestTimeout: 600_000, host: '127.0.0.1', port })
  await connection.connect()
  const waiting: Promise<unknown>[] = []
  // each checks every second after it was sent: one does just before another times out
  for (let after = 0; after < 1_000; after += 50)
    waiting.push(sleep(after).then(() => connection.send(request)))
  const others = setInterval(() => void slow?.write(answerTo(NOBODYS)), 350)
  context.onTestFinished(() => clearInterval(others))
  await expect(Promise.all(waiting)).resolves.toHaveLength(20)
  expect(connections()).toBe(3)
  clearInterval(others)
  await connection.disconnect()
})

test('a process that is held up longer than a probe does not take a silent broker for alive', async () => {
  onTestFinished(() => void vi.useRealTimers())
  const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens to a port
  // only the client's: those that count this process's turns stay real
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  const asked = isAlive({
    ...{ host: '127.0.0.1', port, clientId: 'test', ssl: null },
    socketFactory: createSocketFactory(),
  })
  const [socket] = await once(server, 'connection')
  await once(socket, 'data')
  vi.advanceTimersByTime(60_000)
  expect(await asked).toBe(false)
})
