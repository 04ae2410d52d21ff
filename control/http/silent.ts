import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const SOON_MS = 500

/**
 * Browsers and client libraries open connections before they have anything to ask, as when a stream has ended that they read.
 * Such a one is not idle to Node, as it has had no request: closing would wait for it for ever.
 */
export function dropSilentAtTheEnd(app: FastifyInstance): void {
  const connected = new Set<Socket>()
  let closing = false

  function dropSilent(): void {
    for (const socket of connected) if (socket.bytesRead === 0) socket.destroy()
  }

  app.server.on('connection', (socket) => {
    connected.add(socket)
    socket.once('close', () => connected.delete(socket))
    if (closing) setTimeout(dropSilent, SOON_MS).unref()
  })
  app.addHook('preClose', async () => {
    closing = true
    dropSilent()
  })
}
