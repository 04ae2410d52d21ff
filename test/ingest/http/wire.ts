import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { basic, type FakeIngest, fakeIngest } from '../fake.ts'

/** @returns a connection to ingest, which listens until the test ends */
export async function open(ingest: FakeIngest = fakeIngest()): Promise<Socket> {
  const { app } = ingest
  if (!app.server.listening) {
    await app.listen({ host: '127.0.0.1', port: 0 })
    onTestFinished(async () => void (await app.close()))
  }
  // a TCP server's address is an object
  const { port } = app.server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Fails if the connection is reset. */
export async function readAll(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}

export type WireAnswer = { status: number; headers: Record<string, string>; body: string }

/** Interim answers (100) have no body. */
export function parseAnswers(text: string): WireAnswer[] {
  const answers: WireAnswer[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [line = '', ...fields] = rest.slice(0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1])
    if (end === -1 || !status) throw new Error(`this is no answer: ${rest.slice(0, 200)}`)
    const headers = Object.fromEntries(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 2),
      ]),
    )
    const length = Number(headers['content-length'] ?? 0)
    answers.push({ status, headers, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}

/** The connection is closed after it. */
export async function answerOf(socket: Socket): Promise<WireAnswer> {
  const [answer, ...more] = parseAnswers(await readAll(socket))
  if (!answer || more.length > 0) throw new Error(`${more.length + (answer ? 1 : 0)} answers`)
  return answer
}

export const head = (fields: string, path = '/v1/track') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic('shop-key')}\r\n${fields}\r\n\r\n`

/** @param bytes of each chunk */
export function chunked(body: Buffer, bytes = 1000): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += bytes) {
    const piece = body.subarray(at, at + bytes)
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')])
}
