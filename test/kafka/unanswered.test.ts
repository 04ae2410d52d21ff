import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import '../../kafka/client.ts' // has the client close them
import { Kafka, logLevel } from '../../kafka/kafkajs.ts'

const require = createRequire(import.meta.url)
const Connection = require('kafkajs/src/network/connection')
const createSocketFactory = require('kafkajs/src/network/socketFactory')
const Encoder = require('kafkajs/src/protocol/encoder')
const quiet = { namespace: () => quiet, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

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
  connectionTimeout: 1_000,
}

/** @returns the port of one that takes connections and never answers, and how many came. */
async function silent(): Promise<{ port: number; connections: () => number }> {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket.resume())).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  // a TCP server's address is an object
  return { port: (server.address() as AddressInfo).port, connections: () => sockets.length }
}

test('a broker that does not answer in time is taken for gone, by all that wait for it', async () => {
  const { port } = await silent()
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

test('a client whose first broker is silent asks the next one', async () => {
  const [first, second] = [await silent(), await silent()]
  const kafka = new Kafka({
    brokers: [first, second].map(({ port }) => `127.0.0.1:${port}`),
    requestTimeout: 50,
    retry: { initialRetryTime: 10, maxRetryTime: 10, retries: 1 },
    logLevel: logLevel.NOTHING,
  })
  await expect(kafka.admin().connect()).rejects.toThrow()
  expect([first.connections(), second.connections()]).toEqual([1, 1])
})
