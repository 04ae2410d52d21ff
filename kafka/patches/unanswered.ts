import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

const require = createRequire(import.meta.url)

/** What kafkajs has of a connection to a broker; the version is pinned, and tests hold this against it. */
export type Dialled = {
  host: string
  port: number
  clientId: string
  ssl: object | boolean | null
  socketFactory: unknown
  socket: Socket | undefined
}
type Probe = {
  socket: Socket | undefined
  connect(): Promise<boolean>
  send(request: object): Promise<unknown>
}

const ProbeConnection: new (options: object) => Probe = require('kafkajs/src/network/connection')
const apiVersions: {
  protocol(of: { version: number }): () => object
} = require('kafkajs/src/protocol/requests/apiVersions')

const quiet: object = {
  namespace: () => quiet,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** In turns of this process's own running: one that was itself held up for seconds has not waited for a broker. */
const TURN_MS = 100
const TURNS = 30
/** The client's own limits: what they end looks like an answer, so they are longer than all turns, also where this process is held up in each. */
const NEVER_MS = 600_000

/** What the system says of a machine that is not there; any other fault comes from one that is. */
const UNREACHABLE = new Set(['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ETIMEDOUT'])

/** So long a broker that has answered is not asked again. */
const KNOWN_MS = 900
const asked = new Map<string, Promise<boolean>>()

/**
 * Asks a broker on a connection of its own for what it can do, which costs it next to nothing: false when three seconds bring nothing at
 * all. One that refuses is there: what it thinks of the other connections they are told themselves.
 */
export function isAlive(of: Dialled): Promise<boolean> {
  const broker = `${of.host}:${of.port}`
  const known = asked.get(broker) ?? ask(of)
  if (!asked.has(broker)) {
    asked.set(broker, known)
    const forget = () => void asked.delete(broker)
    void known.then((alive) => (alive ? setTimeout(forget, KNOWN_MS).unref() : forget()))
  }
  return known
}

async function ask({ socket, port, clientId, ssl, socketFactory, ...of }: Dialled): Promise<boolean> {
  // the machine that has not answered, with no name to be looked up
  const host = socket?.remoteAddress ?? of.host
  const probe = new ProbeConnection({
    ...{ host, port, clientId, ssl, socketFactory, logger: quiet },
    ...{ connectionTimeout: NEVER_MS, requestTimeout: NEVER_MS },
  })
  let alive = false
  const answer = async () => {
    await probe.connect()
    await probe.send(apiVersions.protocol({ version: 0 })())
  }
  answer().then(
    () => {
      alive = true
    },
    (error) => {
      alive = !UNREACHABLE.has(error.code)
    },
  )
  for (let turn = 0; !alive && turn < TURNS; turn++) await sleep(TURN_MS, undefined, { ref: false })
  // with an error, upon which it clears its timers
  probe.socket?.destroy(new Error('no longer wanted'))
  return alive
}

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
