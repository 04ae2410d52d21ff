/**
 * Upstream: tulios/kafkajs#919 (open), fix in #1783 (open); `connect` and `send` in
 * src/network/connection.js.
 * Without it: a request that times out is sent again on the same connection. If the broker's machine has vanished, that
 * hangs for a quarter of an hour (docs/decisions/015-cluster.md).
 * Until: test/kafka/unanswered.test.ts passes without it.
 */
import type { Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { internal, prototypeOf } from '../internals.ts'
import { forgetResponse } from './new-socket.ts'

export type Dialled = {
  host: string
  port: number
  clientId: string
  ssl: object | boolean | null
  socketFactory: unknown
}
type Connection = Dialled & {
  socket: Socket | undefined
  requestQueue: { inflight: Map<number, { timeoutRequest(): void }> }
  rejectRequests(error: Error): void
  isConnected(): boolean
  connect(): Promise<boolean>
  disconnect(): Promise<boolean>
}
type Send = (this: Connection, request: { request: { apiKey: number } }) => Promise<unknown>

/** After this much silence, a broker is probed. */
const DOUBT_MS = 1_000
/** SaslHandshake, ApiVersions and SaslAuthenticate (Kafka protocol guide, "Api Keys"). */
const HANDSHAKE = new Set([17, 18, 36])

type ErrorClass = new (message: string, details: object) => Error
const { KafkaJSConnectionError, KafkaJSConnectionClosedError } =
  internal<Record<'KafkaJSConnectionError' | 'KafkaJSConnectionClosedError', ErrorClass>>('errors')

const listeners: (() => void)[] = []

/** Calls `listener` for each answer of a broker to any client. */
export const onAnswer = (listener: () => void): void => void listeners.push(listener)

const answered = () => {
  for (const listener of listeners) listener()
}

const connection = prototypeOf<{ send: Send; connect(this: Connection): Promise<boolean> }>(
  'network/connection',
)
const { send, connect } = connection

/**
 * Closes a connection when a request times out, or when the broker answers neither it nor a probe. An unanswered
 * handshake counts as a failed connection: kafkajs then tries another broker. A broker that did not answer its last
 * probe gets no new connections until it answers one.
 */
export function closeUnanswered(): void {
  connection.connect = async function () {
    if (!this.isConnected() && silent.has(nameOf(this)) && !(await isBack(this)))
      throw new KafkaJSConnectionError('The broker does not answer', { broker: nameOf(this) })
    const doubt = setTimeout(() => void isAlive(this), DOUBT_MS).unref()
    try {
      return await connect.call(this)
    } finally {
      clearTimeout(doubt)
    }
  }
  connection.send = async function (request) {
    const { socket } = this
    const doubts = setInterval(() => void timeOutIfGone(this), DOUBT_MS).unref()
    try {
      const answer = await send.call(this, request)
      answered()
      return answer
    } catch (error) {
      // a refusal is an answer too
      if (error instanceof Error && error.name === 'KafkaJSProtocolError') answered()
      if (!(error instanceof Error) || error.name !== 'KafkaJSRequestTimeoutError') throw error
      const gone = goneError(this, request.request.apiKey, error.message)
      // several requests may time out at once
      if (socket && socket === this.socket && !socket.destroyed) await close(this, gone)
      throw gone
    } finally {
      clearInterval(doubts)
    }
  }
}

async function timeOutIfGone(connection: Connection): Promise<void> {
  const { socket } = connection
  if (!socket) return
  silentMs(socket)
  // the address avoids a name lookup
  if (await isAlive(connection, socket.remoteAddress)) return
  // if this process was blocked, first read what arrived meanwhile
  await nextTurn()
  // a broker that answers here is alive, even if it accepts no new connections
  if (socket !== connection.socket || silentMs(socket) < DOUBT_MS) return
  for (const request of [...connection.requestQueue.inflight.values()]) request.timeoutRequest()
}

const received = new WeakMap<Socket, { bytes: number; since: number }>()

/** All requests on a connection share this state. @returns for how many ms nothing has arrived. */
function silentMs(socket: Socket): number {
  const { bytesRead: bytes } = socket
  const before = received.get(socket)
  const now = performance.now()
  if (before?.bytes === bytes) return now - before.since
  received.set(socket, { bytes, since: now })
  return 0
}

function goneError({ host, port }: Connection, apiKey: number, message: string): Error {
  return HANDSHAKE.has(apiKey)
    ? new KafkaJSConnectionError(message, { broker: nameOf({ host, port }) })
    : new KafkaJSConnectionClosedError(message, { host, port })
}

async function close(connection: Connection, error: Error): Promise<void> {
  connection.rejectRequests(error)
  connection.socket?.destroy()
  forgetResponse(connection)
  await connection.disconnect()
}

const ProbeConnection = internal<new (options: object) => Connection>('network/connection')
const apiVersions = internal<{ protocol(of: { version: number }): () => Parameters<Send>[0] }>(
  'protocol/requests/apiVersions',
)

/** Waits in steps: time in which this process was blocked must not count. */
const PROBE_STEP_MS = 100
const PROBE_STEPS = 30
/** Longer than all steps: a timeout of kafkajs would look like an answer. */
const NEVER_MS = 600_000
/** How long a broker counts as alive. */
const ALIVE_MS = 900
/** A new connection to a silent broker waits this long for a probe's answer. The probe itself goes on. */
const BACK_MS = 250

/** Any other error means that the machine answered. */
const UNREACHABLE = new Set(['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ETIMEDOUT'])

const nameOf = ({ host, port }: Pick<Dialled, 'host' | 'port'>) => `${host}:${port}`

const probes = new Map<string, Promise<boolean>>()
/** Brokers that did not answer their last probe. */
const silent = new Set<string>()

/**
 * Looks up the broker's name again: it may have come back at another address. The timer keeps this process running, as
 * a new connection would.
 */
const isBack = (broker: Dialled): Promise<boolean> => Promise.race([isAlive(broker), sleep(BACK_MS, false)])

/** @returns false after three seconds without an answer. A refusal is an answer. */
export function isAlive(of: Dialled, address = of.host): Promise<boolean> {
  const broker = nameOf(of)
  const known = probes.get(broker) ?? probe(of, address)
  if (!probes.has(broker)) {
    probes.set(broker, known)
    const forget = () => void probes.delete(broker)
    void known.then((alive) => {
      if (alive) {
        silent.delete(broker)
        setTimeout(forget, ALIVE_MS).unref()
      } else {
        silent.add(broker)
        forget()
      }
    })
  }
  return known
}

/** Uses kafkajs's own methods, so that a probe is not probed itself. */
async function probe({ port, clientId, ssl, socketFactory }: Dialled, host: string): Promise<boolean> {
  const connection = new ProbeConnection({
    host,
    port,
    clientId,
    ssl,
    socketFactory,
    logger: silentLogger,
    connectionTimeout: NEVER_MS,
    requestTimeout: NEVER_MS,
  })
  let alive = false
  const answer = async () => {
    await connect.call(connection)
    await send.call(connection, apiVersions.protocol({ version: 0 })())
    answered()
  }
  answer().then(
    () => {
      alive = true
    },
    (error) => {
      alive = !UNREACHABLE.has(error.code)
    },
  )
  for (let step = 0; !alive && step < PROBE_STEPS; step++)
    await sleep(PROBE_STEP_MS, undefined, { ref: false })
  // with an error, so that kafkajs clears its timers
  connection.socket?.destroy(new Error('the probe is over'))
  return alive
}

const silentLogger: object = {
  namespace: () => silentLogger,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
