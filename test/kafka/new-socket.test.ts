import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import '../../kafka/client.ts' // applies the patch
import { quiet } from '../helpers/kafkajs.ts'
import { until } from '../helpers/until.ts'

const require = createRequire(import.meta.url)
const Connection = require('kafkajs/src/network/connection')
const createSocketFactory = require('kafkajs/src/network/socketFactory')

test('the beginning of a response that a broker did not finish is not read as the next one', async () => {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket.resume())).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const timeouts = { connectionTimeout: 10_000, requestTimeout: 10_000 }
  const options = { host: '127.0.0.1', port, logger: quiet, socketFactory: createSocketFactory() }
  const connection = new Connection({ ...options, ...timeouts })
  await connection.connect()
  const [first] = await until(() => sockets)
  first?.write(Buffer.from([0, 0, 0, 9, 0, 0]))
  await until(() => connection.bytesBuffered === 6)
  first?.destroy()
  await until(() => !connection.isConnected())

  await connection.connect()
  onTestFinished(() => void connection.disconnect())
  const read: number[] = []
  connection.requestQueue.fulfillRequest = ({ correlationId }: { correlationId: number }) =>
    void read.push(correlationId)
  await until(() => sockets.length === 2)
  sockets[1]?.write(Buffer.from([0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0]))
  await until(() => read.length > 0)
  expect(read).toEqual([7])
  sockets[1]?.destroy()
})
