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

/** How many ports a process looks among, and how many processes in a row have others. */
const EACH = 100
const PROCESSES = 170
let next = randomInt(EACH)

/**
 * The first of a process's own ports. With one range for all, two processes would now and then find the same port free, as each listens
 * only a while later. It is below the range of outgoing connections: a client that dials a stopped broker's port from that very port would
 * be connected to itself, and the broker could not come back.
 */
export const firstPortOf = (pid: number): number => 15_000 + (pid % PROCESSES) * EACH

/** A port that nothing listens on. The process's ports take turns: one that was found and is not used yet is not found again soon. */
export async function freePort(host = '127.0.0.1', avoid: readonly number[] = []): Promise<number> {
  for (let tries = 0; tries < EACH; tries++) {
    const port = firstPortOf(process.pid) + (next++ % EACH)
    if (!avoid.includes(port) && (await isFree(port, host))) return port
  }
  throw new Error(`no free port from ${firstPortOf(process.pid)} on ${host}`)
}
