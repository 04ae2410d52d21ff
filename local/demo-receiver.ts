import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One webhook as a receiver sees it. */
export type Arrival = { type: string; body: string; headers: IncomingHttpHeaders; signatureIsRight: boolean }

export type Receiver = { url: string; close(): Promise<void> }

/** A webhook receiver as a customer would write one: checks the signature over the body's bytes, answers 200. */
export async function startReceiver(
  secret: string,
  onArrival: (arrival: Arrival) => void,
): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const { type } = JSON.parse(body.toString())
    response.end()
    onArrival({
      type,
      body: body.toString(),
      headers: request.headers,
      signatureIsRight: matches(String(request.headers['x-signature']), body, secret),
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/webhook`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function matches(given: string, body: Buffer, secret: string): boolean {
  const wanted = createHmac('sha1', secret).update(body).digest('hex')
  return given.length === wanted.length && timingSafeEqual(Buffer.from(given), Buffer.from(wanted))
}
