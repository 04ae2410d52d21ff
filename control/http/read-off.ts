import type { FastifyInstance } from 'fastify'

/**
 * What still comes of a body that has its answer is read and dropped, or the next request of its connection would wait behind it. Node
 * does so only with a body that nobody has begun to read. Who has not ended it in `mostMs` is let go.
 */
export function readOff(app: FastifyInstance, mostMs: number): void {
  app.addHook('onResponse', async ({ raw }) => {
    raw.resume()
    const { socket } = raw
    if (raw.complete !== false || socket.destroyed) return
    const timer = setTimeout(() => socket.destroy(), mostMs).unref()
    function over(): void {
      clearTimeout(timer)
      socket.off('close', over)
    }
    raw.once('end', over)
    // once it is answered, a request is not told when its socket goes
    socket.once('close', over)
  })
}
