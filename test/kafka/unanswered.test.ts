import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import '../../kafka/client.ts' // has the client close them

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

test('a broker that does not answer in time is taken for gone, by all that wait for it', async () => {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket.resume())).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // a TCP server's address is an object
  const { port } = server.address() as AddressInfo
  const common = { host: '127.0.0.1', port, clientId: 'test', logger: quiet }
  const connection = new Connection({
    ...common,
    socketFactory: createSocketFactory(),
    requestTimeout: 50,
    enforceRequestTimeout: true,
    connectionTimeout: 1_000,
  })
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
  for (const socket of sockets) socket.destroy()
  server.close()
})
