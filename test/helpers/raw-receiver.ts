import { createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A receiver that speaks bytes, not HTTP. @returns its URL. */
export async function raw(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`
}

/** Answers the first bytes of each connection. */
export const afterRequest = (answer: (socket: Socket) => void) =>
  raw((socket) => socket.once('data', () => answer(socket)))

/** Sends until the connection closes. @param everyMs 0: as fast as it is read. Use a long text then, or this process gets busy. */
export function keepWriting(socket: Socket, text: string, everyMs: number): void {
  if (everyMs > 0) {
    const drops = setInterval(() => socket.write(text), everyMs)
    socket.on('close', () => clearInterval(drops))
    return
  }
  const flood = () => {
    while (socket.writable && socket.write(text));
  }
  socket.on('drain', flood)
  flood()
}
