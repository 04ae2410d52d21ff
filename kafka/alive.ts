import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

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

const Connection: new (options: object) => Probe = require('kafkajs/src/network/connection')
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
  const probe = new Connection({
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
