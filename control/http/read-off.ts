import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * What still comes of a body that has its answer is read and dropped, or the next request of its connection would wait behind it. Node
 * does so only with a body that nobody has begun to read. Who has not ended it in `mostMs` is let go, and so is all of it at the end
 * of the process: the connection is not idle to Node, which would wait for it.
 */
export function readOff(app: FastifyInstance, mostMs: number): void {
  const under = new Set<Socket>()
  let closing = false

  app.addHook('onResponse', async ({ raw }) => {
    raw.resume()
    const { socket } = raw
    if (raw.complete !== false || socket.destroyed) return
    if (closing) {
      socket.destroy()
      return
    }
    const timer = setTimeout(() => socket.destroy(), mostMs).unref()
    under.add(socket)
    function over(): void {
      clearTimeout(timer)
      under.delete(socket)
      socket.off('close', over)
    }
    raw.once('end', over)
    // once it is answered, a request is not told when its socket goes
    socket.once('close', over)
  })
  app.addHook('preClose', async () => {
    closing = true
    for (const socket of under) socket.destroy()
  })
}
