import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answered } from '../account.ts'

/** A POST, and when it came (ms of `performance.now()`). */
export type Arrival = Answered & { at: number }

/** Webhooks that answer at once, one for each destination. */
export async function startReceivers(destinationIds: readonly string[]) {
  const arrivals: Arrival[] = []
  const server = createServer((request, response) => {
    const { headers, url = '' } = request
    request.resume()
    request.once('end', () => {
      arrivals.push({
        destinationId: url.slice(1),
        messageId: String(headers['x-message-id']),
        deliveryId: String(headers['x-delivery-id']),
        at: performance.now(),
      })
      response.end('ok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // a TCP server's address is an object
  const { port } = server.address() as AddressInfo
  return {
    arrivals,
    urls: destinationIds.map((id) => ({ id, url: `http://127.0.0.1:${port}/${id}` })),
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
