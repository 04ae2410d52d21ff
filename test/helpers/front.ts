import { once } from 'node:events'
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

/** A request that was passed on, with the calls in its batch and the answer. */
export type Seen = { calls: { messageId?: unknown }[]; status: number; encoding: string | undefined }

export type Front = {
  url: string
  seen: readonly Seen[]
  /** Answers the next requests with these, one each, instead of the target's answers. */
  refuseNext(...answers: Answer[]): void
  close(): Promise<void>
}

export type Answer = { status: number; headers: OutgoingHttpHeaders; body: string | Buffer }

/** Stands before an HTTP server like a load balancer: passes requests on unchanged, and records them. */
export async function startFront(target: string): Promise<Front> {
  const seen: Seen[] = []
  const refusals: Answer[] = []
  const server = createServer(async (incoming, response) => {
    const body = Buffer.concat(await incoming.toArray())
    const encoding = incoming.headers['content-encoding']
    const refusal = refusals.shift()
    const answer = refusal ?? (await pass(incoming, body, target))
    // before the client can continue
    seen.push({ calls: callsIn(body, encoding), status: answer.status, encoding })
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    // a TCP server's address is an object
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    refuseNext: (...answers) => void refusals.push(...answers),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Passes on the client's headers and bytes, and the answer, unchanged. */
async function pass(
  { method, url = '/', headers }: IncomingMessage,
  body: Buffer,
  target: string,
): Promise<Answer> {
  const outgoing = request(new URL(url, target), { method, headers })
  outgoing.end(body)
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  const { statusCode: status = 502, headers: answered } = answer
  return { status, headers: answered, body: Buffer.concat(await answer.toArray()) }
}

function callsIn(body: Buffer, encoding: string | undefined): Seen['calls'] {
  return JSON.parse(String(encoding === 'gzip' ? gunzipSync(body) : body)).batch
}
