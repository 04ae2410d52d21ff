import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { closeUnread } from '../../http/close-unread.ts'

/** The client reads the end of the answer, but does not close its side. */
async function closedUnread() {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
  onTestFinished(() => void client.destroy())
  const [socket] = (await once(server, 'connection')) as [Socket]
  // real time must not end it
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const [set, clear] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')]
  onTestFinished(() => void vi.restoreAllMocks())
  closeUnread(socket)
  const [timer] = set.mock.results
  await once(client, 'end')
  return { client, socket, timer: timer?.value, clear }
}

test('a connection whose client does not close it is closed after a second', async () => {
  const { socket } = await closedUnread()
  vi.advanceTimersByTime(999)
  expect(socket.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect(socket.destroyed).toBe(true)
})

test('a connection is closed as soon as its client closes it, and leaves no timer', async () => {
  const { client, socket, timer, clear } = await closedUnread()
  client.end()
  await once(socket, 'close')
  expect(timer).toBeDefined()
  expect(clear).toHaveBeenCalledWith(timer)
})
