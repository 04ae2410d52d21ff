import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Dialled, isAlive } from './alive.ts'

const require = createRequire(import.meta.url)

/** What kafkajs has of a connection; the version is pinned, and tests hold this against it. */
type Connection = Dialled & {
  requestQueue: { inflight: Map<number, { timeoutRequest(): void }> }
  socket: Socket | undefined
  chunks: Buffer[]
  bytesBuffered: number
  bytesNeeded: number
  rejectRequests(error: Error): void
  disconnect(): Promise<boolean>
}
type Send = (this: Connection, request: { request: { apiKey: number } }) => Promise<unknown>

/** After so long without an answer the broker is asked whether it is there. */
const DOUBT_MS = 1_000
/** Of the length that each answer begins with. */
const LENGTH_BYTES = 4
/** SaslHandshake, ApiVersions and SaslAuthenticate (Kafka's protocol guide, "Api Keys"): what a connection begins with. */
const HANDSHAKE = new Set([17, 18, 36])

const { KafkaJSConnectionError, KafkaJSConnectionClosedError } = require('kafkajs/src/errors')

const listeners: (() => void)[] = []

/** Told of each answer of a broker, to any client in this process. */
export const onAnswer = (listener: () => void): void => void listeners.push(listener)

const heard = () => {
  for (const listener of listeners) listener()
}

/**
 * A broker that has not answered a request in its time, or neither the request nor whether it is there, counts as gone: its connection is closed, as
 * if it had done so. A slow one may take its time: it says that it is there. Left to itself
 * kafkajs sends again on the same connection, to the leader that it knows of, for as long as the system keeps a connection to a machine that
 * is lost: a quarter of an hour. One that does not even answer what a connection begins with counts as one that cannot be connected to:
 * then another broker is tried, where a closed connection would be made again, to the same one. For all clients in this process.
 */
export function closeUnanswered(): void {
  const { prototype: connection }: { prototype: { send: Send } } = require('kafkajs/src/network/connection')
  const { send } = connection
  connection.send = async function (request) {
    const { socket } = this
    const doubts = setInterval(() => void giveUpIfGone(this), DOUBT_MS).unref()
    try {
      const answer = await send.call(this, request)
      heard()
      return answer
    } catch (error) {
      // also a refusal is an answer
      if (error instanceof Error && error.name === 'KafkaJSProtocolError') heard()
      if (!(error instanceof Error) || error.name !== 'KafkaJSRequestTimeoutError') throw error
      const gone = goneOf(this, request.request.apiKey, error.message)
      // several requests may run out at once: only the first of them ends this connection
      if (socket && socket === this.socket && !socket.destroyed) await end(this, gone)
      throw gone
    } finally {
      clearInterval(doubts)
    }
  }
}

async function giveUpIfGone(connection: Connection): Promise<void> {
  const { socket } = connection
  if (!socket) return
  look(socket)
  if (await isAlive(connection)) return
  // a process that was held up itself reads first what has come meanwhile
  await nextTurn()
  // what answers here is there, though it takes no new connections
  if (socket !== connection.socket || look(socket) < DOUBT_MS) return
  for (const request of [...connection.requestQueue.inflight.values()]) request.timeoutRequest()
}

/** Of each connection: how many bytes had come when it was last looked at, and since when no others have. */
const looks = new WeakMap<Socket, { bytes: number; since: number }>()

/**
 * Several of a connection's requests wait, and each looks when its own time has come, maybe just before the end of a question that was asked for
 * another: what came before that look counts too.
 * @returns for how long nothing has come, in ms, as far as looks tell.
 */
function look(socket: Socket): number {
  const { bytesRead: bytes } = socket
  const before = looks.get(socket)
  const now = performance.now()
  if (before?.bytes === bytes) return now - before.since
  looks.set(socket, { bytes, since: now })
  return 0
}

function goneOf({ host, port }: Connection, apiKey: number, message: string): Error {
  return HANDSHAKE.has(apiKey)
    ? new KafkaJSConnectionError(message, { broker: `${host}:${port}` })
    : new KafkaJSConnectionClosedError(message, { host, port })
}

async function end(connection: Connection, error: Error): Promise<void> {
  connection.rejectRequests(error)
  connection.socket?.destroy()
  Object.assign(connection, { chunks: [], bytesBuffered: 0, bytesNeeded: LENGTH_BYTES })
  await connection.disconnect()
}
