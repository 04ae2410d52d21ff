import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import '../../kafka/client.ts' // applies the patch
import { quiet } from '../helpers/kafkajs.ts'
import { until } from '../helpers/until.ts'

const require = createRequire(import.meta.url)
const Connection = require('kafkajs/src/network/connection')
const createSocketFactory = require('kafkajs/src/network/socketFactory')

test('disconnecting a closed connection again and again adds no listeners', async () => {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  // a TCP server's address is an object
  const { port } = server.address() as AddressInfo
  const socketFactory = createSocketFactory()
  const timeouts = { connectionTimeout: 10_000, requestTimeout: 10_000 }
  const connection = new Connection({ host: '127.0.0.1', port, logger: quiet, socketFactory, ...timeouts })
  await connection.connect()
  await connection.disconnect()
  await until(() => connection.socket.destroyed)
  for (let i = 0; i < 20; i++) await connection.disconnect()
  expect(connection.socket.listenerCount('connect')).toBe(0)
})
