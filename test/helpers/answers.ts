import { createServer, connect as dial, type Socket } from 'node:net'
import { Kafka, logLevel } from 'kafkajs'
import { onTestFinished } from 'vitest'
import type { Connection } from '../../kafka/client.ts'

/** Kafka's requests (protocol guide, "Api Key"), and errors that it answers with. */
export const METADATA = 3
export const FIND_COORDINATOR = 10
export const JOIN_GROUP = 11
export const SYNC_GROUP = 14
export const HEARTBEAT = 12
export const UNEXPECTED = -1
export const COORDINATOR_LOADING = 14
export const NO_COORDINATOR = 15
export const UNKNOWN_MEMBER = 25
export const REBALANCE = 27
export const NO_RIGHT = 30

/** Size, then key, version and correlation id of a request; size and correlation id of an answer. In bytes. */
const SIZE = 4
const KEY_AT = SIZE
const REQUEST_ID_AT = SIZE + 4
const ANSWER_ID_AT = SIZE
/** Behind the correlation id and the throttle time: in the versions of these requests that kafkajs sends. */
const ERROR_AT = SIZE + 8

type AnsweredError = { key: number; error: number | 'reset' }

/**
 * The same broker behind a proxy that can answer with errors, or reset the connection. Each item that is pushed to
 * `errors` answers one request of its kind, in order.
 * @param broker `host:port`.
 */
export async function withAnswers(
  from: Connection,
  broker: string,
): Promise<{ connection: Connection; errors: AnsweredError[] }> {
  const errors: AnsweredError[] = []
  const sockets = new Set<Socket>()
  const [host = '', port = ''] = broker.split(':')
  const door = createServer((client) => {
    const server = dial(Number(port), host)
    const keys = new Map<number, number>()
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
    client.on(
      'data',
      frames((request) => {
        keys.set(request.readInt32BE(REQUEST_ID_AT), request.readInt16BE(KEY_AT))
        server.write(request)
      }),
    )
    server.on(
      'data',
      frames((answer) => {
        const id = answer.readInt32BE(ANSWER_ID_AT)
        const next = errors[0]
        if (next && keys.get(id) === next.key) {
          errors.shift()
          if (next.error === 'reset') return void client.resetAndDestroy()
          answer.writeInt16BE(next.error, ERROR_AT)
        }
        keys.delete(id)
        client.write(answer)
      }),
    )
  })
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => door.close(resolve))
  })
  const address = door.address()
  const at = typeof address === 'object' && address ? address.port : 0
  const kafka = new Kafka({
    brokers: [broker],
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, maxRetryTime: 50, retries: 3 },
    socketFactory: ({ onConnect }) => dial(at, '127.0.0.1', onConnect),
  })
  return { connection: { ...from, kafka }, errors }
}

/** Passes on whole frames, each after its size. */
function frames(onFrame: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= SIZE && rest.length >= SIZE + rest.readInt32BE(0)) {
      const end = SIZE + rest.readInt32BE(0)
      onFrame(Buffer.from(rest.subarray(0, end)))
      rest = rest.subarray(end)
    }
  }
}
