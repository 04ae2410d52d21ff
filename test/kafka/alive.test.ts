import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { isAlive } from '../../kafka/patches/unanswered.ts'
import '../../kafka/client.ts' // before what it changes
import { createRequire } from 'node:module'

const createSocketFactory = createRequire(import.meta.url)('kafkajs/src/network/socketFactory')

afterEach(() => void vi.useRealTimers())

test('a silent broker is not taken for one that is there by a process that is held up for longer than it waits', async () => {
  const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens to a port
  // of the client; those by which this process's turns are counted go on
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  const asked = isAlive({
    ...{ host: '127.0.0.1', port, clientId: 'test', ssl: null, socket: undefined },
    socketFactory: createSocketFactory(),
  })
  const [socket] = await once(server, 'connection')
  await once(socket, 'data')
  vi.advanceTimersByTime(60_000)
  expect(await asked).toBe(false)
})
