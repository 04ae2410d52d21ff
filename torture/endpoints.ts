import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Answered } from './account.ts'
import type { Behaviour } from './plan.ts'

const LATE_MS = 7_000

/** A webhook whose behaviour changes. */
export type Endpoint = {
  url: string
  answered: readonly Answered[]
  /** Ids of the deliveries whose requests arrived in full. */
  seen: ReadonlySet<string>
  behave(behaviour: Behaviour): Promise<void>
}

export type Host = { endpoints: readonly Endpoint[]; close(): Promise<void> }

/**
 * Starts one host.
 * @param destinationIds one for each webhook, each at a path of its own. If there are several, a webhook that should
 * refuse connections resets them instead.
 */
export async function startHost(destinationIds: readonly string[]): Promise<Host> {
  const server = createServer((request, response) => {
    request.resume()
    request.once('end', () => endpoints[Number(request.url?.slice(1))]?.answer(request, response))
  })
  const port = await listen(server, 0)
  const isAlone = destinationIds.length === 1
  let isClosed = false
  const refuse = async (isRefusing: boolean) => {
    if (isRefusing === isClosed) return
    isClosed = isRefusing
    await (isRefusing ? close(server) : listen(server, port))
  }
  const endpoints = destinationIds.map((destinationId, index) => {
    const { behave, ...endpoint } = createEndpoint(destinationId)
    return {
      ...endpoint,
      url: `http://127.0.0.1:${port}/${index}`,
      async behave(next: Behaviour) {
        behave(next === 'refusing' && !isAlone ? 'reset' : next)
        if (isAlone) await refuse(next === 'refusing')
      },
    }
  })
  return { endpoints, close: () => close(server) }
}

function createEndpoint(destinationId: string) {
  const answered: Answered[] = []
  const seen = new Set<string>()
  let behaviour: Behaviour = 'answers'

  function answer({ headers, socket }: IncomingMessage, response: ServerResponse): void {
    const deliveryId = String(headers['x-delivery-id'])
    const messageId = String(headers['x-message-id'])
    seen.add(deliveryId)
    // it counts once it is on its way, whether or not anybody waits for it still
    const count = () => void answered.push({ destinationId, messageId, deliveryId })
    if (behaviour === 'failing') response.writeHead(503).end()
    else if (behaviour === 'reset') socket.resetAndDestroy()
    else if (behaviour === 'late') setTimeout(() => response.writeHead(503).end(), LATE_MS)
    else if (behaviour === 'drip') drip(response.once('close', count))
    else if (behaviour === 'extensions') {
      socket.once('close', count)
      flood(socket, `${CHUNKED}1;`, 'x'.repeat(PIECE))
    } else if (behaviour === 'informational') flood(socket, '', 'HTTP/1.1 102 Processing\r\n\r\n')
    else if (behaviour === 'unsolicited') again(socket, response.end('ok', count))
    else if (behaviour === 'rejecting' && seen.size % 4 === 0) reject(response, seen.size)
    else if (behaviour === 'answers' || behaviour === 'rejecting') response.end('ok', count)
  }

  const behave = (next: Behaviour) => {
    behaviour = next
  }
  return { answered, seen, answer, behave }
}

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const PIECE = 1_024
const FLOOD_MS = 20
const AGAIN_MS = 5

function reject(response: ServerResponse, seen: number): void {
  const status = [404, 410, 301][seen % 3] ?? 404
  response.writeHead(status, status === 301 ? { location: '/elsewhere' } : {}).end()
}

/** Writes until the other side closes the connection, slowly enough to leave CPU time to others. */
function flood(socket: Socket, head: string, piece: string): void {
  socket.write(head)
  const pieces = setInterval(() => socket.write(piece), FLOOD_MS)
  socket.once('close', () => clearInterval(pieces))
}

/** Sends a second answer on a kept connection, while no request is under way or the next one begins. */
function again(socket: Socket, answered: ServerResponse): void {
  const write = () => socket.writable && socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  answered.once('finish', () => setTimeout(write, AGAIN_MS))
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
