import { type AddressInfo, connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { onTestFinished } from 'vitest'

/** @returns a function that opens a connection and sends text */
export async function listen(app: FastifyInstance): Promise<(sent: string) => Socket> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return (sent) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    socket.write(sent)
    return socket
  }
}

export const head = (line: string, headers: Record<string, string> = {}): string =>
  [line, 'Host: sluice', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', ''].join(
    '\r\n',
  )
