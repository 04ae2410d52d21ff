import type { Socket } from 'node:net'

/** For the client to read the answer and close its side. */
const LINGER_MS = 1_000
const LINGER_BYTES = 16 * 1024

const lingering = new WeakSet<Socket>()

/**
 * Closes a connection while its request may still be coming in, once the written answer has been sent. Parses nothing
 * more. Closing at once would reset the connection. If nginx is still writing, it would then lose the answer, count a
 * failure of the server, and send it no requests for 10 s.
 */
export function closeUnread(socket: Socket): void {
  if (socket.destroyed || lingering.has(socket)) return
  const most = socket.bytesRead + LINGER_BYTES
  // also Node's own, which would parse more
  socket.removeAllListeners('data').removeAllListeners('end')
  socket.on('data', () => {
    if (socket.bytesRead > most) socket.pause()
  })
  socket.once('end', () => socket.destroy())
  socket.end().resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  lingering.add(socket)
  socket.once('close', () => clearTimeout(timer))
}

export const isLingering = (socket: Socket): boolean => lingering.has(socket)
