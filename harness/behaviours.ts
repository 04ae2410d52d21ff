import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** One request, read in full. */
export type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  /** `/slow/<first>/<second>`. */
  first: number
  second: number
  deliveryId: string
  /** Requests for this delivery so far, including this one. */
  times: () => number
  before: number
  /** For an answer that never ends: call this once it is on its way. */
  answered: (status: number) => void
}

/** By the first part of the path. Other paths answer 200. */
export const behaviours: Readonly<Record<string, (exchange: Exchange) => void>> = {
  /** `/status/<code>`. */
  status: ({ response, first }) => response.writeHead(first).end(`answered ${first}`),
  /** `/later/<seconds>`: 429 with Retry-After. */
  later: ({ response, first }) => response.writeHead(429, { 'retry-after': String(first) }).end(),
  /** `/flaky/<n>`: 503 to the first n attempts of each delivery. */
  flaky: ({ response, first, times }) => response.writeHead(times() <= first ? 503 : 200).end(),
  /** 503 to the first attempt of about one delivery in ten. */
  tenth: ({ response, deliveryId, times }) =>
    response.writeHead(times() === 1 && isTenth(deliveryId) ? 503 : 200).end(),
  hang: () => {},
  /** `/slow/<ms>/<status>`, by default 200. */
  slow: ({ response, first, second }) => setTimeout(() => response.writeHead(second || 200).end(), first),
  reset: ({ request }) => request.socket.resetAndDestroy(),
  /** Headers at once, then an endless body. */
  drip: ({ request: { socket }, response, answered }) => {
    response.writeHead(200)
    socket.once('close', () => answered(200))
    repeat(socket, 50, () => response.write('.'))
  },
  /** So that an attempt's record shows which request was answered. */
  id: ({ response, deliveryId }) => response.end(deliveryId),
  echo: ({ request, response }) => response.end(JSON.stringify(request.headers)),
  /** 404, 410 or 301 to one request in four. */
  rejecting: ({ response, before, deliveryId }) => {
    const status = before % 4 === 0 ? ([404, 410, 301][before % 3] ?? 404) : 200
    response.writeHead(status, status === 301 ? { location: '/elsewhere' } : {}).end(deliveryId)
  },
  /** A chunked answer whose first chunk has an endless extension. */
  extensions: ({ request: { socket }, answered }) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;')
    socket.once('close', () => answered(200))
    repeat(socket, FLOOD_MS, () => socket.write('x'.repeat(1_024)))
  },
  /** Endless interim answers. */
  informational: ({ request: { socket } }) =>
    repeat(socket, FLOOD_MS, () => socket.write('HTTP/1.1 102 Processing\r\n\r\n')),
  /** Answers, then sends another answer before or during the next request. */
  unsolicited: ({ request: { socket }, response, deliveryId }) => {
    const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${deliveryId.length}\r\n\r\n${deliveryId}`
    const again = () => {
      if (socket.writable) socket.write(answer)
    }
    response.end(deliveryId, () => setTimeout(again, AGAIN_MS))
  },
}

/** Leaves CPU time for others. */
const FLOOD_MS = 20
const AGAIN_MS = 5

/** Ids are hexadecimal and random. */
const isTenth = (id: string) => Number.parseInt(id.slice(0, 4), 16) % 10 === 0

/** Until the other side closes the connection. */
function repeat(socket: Socket, everyMs: number, write: () => void): void {
  const timer = setInterval(write, everyMs)
  socket.once('close', () => clearInterval(timer))
}
