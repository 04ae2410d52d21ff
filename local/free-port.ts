import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Whether a server could listen there now. @throws what the system says, when it is anything but "taken". */
export function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    )
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * A port that nothing listens on. Below the range of outgoing connections: a client that dials a stopped broker's port from
 * that very port would be connected to itself, and the broker could not come back.
 */
export async function freePort(host = '127.0.0.1', avoid: readonly number[] = []): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = randomInt(15_000, 32_000)
    if (!avoid.includes(port) && (await isFree(port, host))) return port
  }
  throw new Error(`no free port between 15000 and 32000 on ${host}`)
}
