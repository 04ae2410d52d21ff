import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answered } from './account.ts'
import type { Behaviour } from './plan.ts'

const LATE_MS = 7_000

/** A webhook of one destination, whose behaviour changes. */
export type Endpoint = {
  url: string
  answered: readonly Answered[]
  behave(behaviour: Behaviour): Promise<void>
  close(): Promise<void>
}

export async function startEndpoint(destinationId: string): Promise<Endpoint> {
  const answered: Answered[] = []
  let behaviour: Behaviour = 'answers'
  const server = createServer((request, response) => {
    request.resume()
    request.once('end', () => answer(request, response))
  })

  function answer({ headers, socket }: IncomingMessage, response: ServerResponse): void {
    // it counts once it is on its way, whether or not anybody waits for it still
    const count = () =>
      void answered.push({
        destinationId,
        messageId: String(headers['x-message-id']),
        deliveryId: String(headers['x-delivery-id']),
      })
    if (behaviour === 'failing') response.writeHead(503).end()
    else if (behaviour === 'reset') socket.resetAndDestroy()
    else if (behaviour === 'late') setTimeout(() => response.writeHead(503).end(), LATE_MS)
    else if (behaviour === 'drip') drip(response.once('close', count))
    else if (behaviour === 'answers') response.end('ok', count)
  }

  const port = await listen(server, 0)
  return {
    url: `http://127.0.0.1:${port}/`,
    answered,
    async behave(next) {
      const wasRefusing = behaviour === 'refusing'
      behaviour = next
      if (next === 'refusing' && !wasRefusing) await close(server)
      if (next !== 'refusing' && wasRefusing) await listen(server, port)
    },
    close: () => close(server),
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // a TCP server's address is an object
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** Headers at once, then a body that the other side has to cut off. */
function drip(response: ServerResponse): void {
  response.writeHead(200)
  const drops = setInterval(() => response.write('.'), 50)
  response.once('close', () => clearInterval(drops))
}
