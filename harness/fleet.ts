import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, type Dispatcher, request } from 'undici'

/** `retryAfter` and `took`: ms. */
export type Answered = {
  status: number
  code: string | undefined
  retryAfter: number | undefined
  took: number
}

export type Fleet = {
  answers: readonly Answered[]
  /** `timeout after 3000 ms` if the client gave up. */
  unanswered: readonly string[]
  /** Ids of calls answered with 200. */
  accepted: ReadonlySet<string>
  /** Makes no more calls and drops those that were never sent. Resolves when all others are accepted. */
  drain(): Promise<void>
}

type Call = { messageId: string; type: 'track'; userId: string; event: string; properties: object }
type Client = { name: string; path: '/v1/track' | '/v1/batch'; timeout: number; made: Call[] }

const EVERY_MS = 1_000
const MAX_BATCH = 20

/** 3 s for some applications, 15 s for client libraries. */
const timeoutOf = (client: number) => (client % 4 === 0 ? 3_000 : 15_000)

/**
 * Each client makes a call a second, and sends one request at a time. It retries until 200 with the same ids, after the
 * requested delay. Half of the clients send batches.
 */
export function startFleet({ url, writeKey, size }: { url: string; writeKey: string; size: number }): Fleet {
  const dispatcher = new Agent({ connections: size })
  const answers: Answered[] = []
  const accepted = new Set<string>()
  const unanswered: string[] = []
  let draining = false

  async function send({ path, timeout }: Client, calls: readonly Call[]): Promise<Answered | undefined> {
    const json = path === '/v1/batch' ? { writeKey, batch: calls } : { writeKey, ...calls[0] }
    const signal = AbortSignal.timeout(timeout)
    try {
      const answer = await post(url + path, { body: JSON.stringify(json), dispatcher, signal })
      answers.push(answer)
      return answer
    } catch (error) {
      unanswered.push(signal.aborted ? `timeout after ${timeout} ms` : String(error))
      return undefined
    }
  }

  async function run(client: Client): Promise<void> {
    const { made, name } = client
    const making = setInterval(() => made.push(callOf(name)), EVERY_MS)
    let arePending = false
    while (!draining || arePending) {
      const calls = made.slice(0, client.path === '/v1/batch' ? MAX_BATCH : 1)
      const answer = calls.length > 0 ? await send(client, calls) : undefined
      arePending = calls.length > 0 && answer?.status !== 200
      if (answer?.status === 200) {
        for (const { messageId } of made.splice(0, calls.length)) accepted.add(messageId)
      } else await sleep(answer?.retryAfter ?? 100)
    }
    clearInterval(making)
  }

  const running = Promise.all(
    Array.from({ length: size }, async (_, index) => {
      await sleep((index / size) * EVERY_MS)
      await run(clientOf(index))
    }),
  )
  return {
    answers,
    unanswered,
    accepted,
    async drain() {
      draining = true
      await running
      await dispatcher.close()
    },
  }
}

const clientOf = (index: number): Client => ({
  name: `client-${index}`,
  path: index % 2 === 0 ? '/v1/track' : '/v1/batch',
  timeout: timeoutOf(index),
  made: [],
})

let sequence = 0
const callOf = (userId: string): Call => ({
  messageId: `${userId}.${sequence++}`,
  type: 'track',
  userId,
  event: 'Ordered',
  properties: { text: 'x'.repeat(500) },
})

/** @param dispatcher holds the connections */
export async function post(
  url: string,
  { body, ...options }: { body: string; dispatcher?: Dispatcher; signal?: AbortSignal },
): Promise<Answered> {
  const sent = performance.now()
  const { statusCode, headers, body: answer } = await request(url, { method: 'POST', body, ...options })
  const { code } = (await answer.json()) as { code?: string } // ingest always answers in JSON
  const retryAfter = headers['retry-after']
  return {
    status: statusCode,
    code,
    retryAfter: retryAfter === undefined ? undefined : Number(retryAfter) * 1_000,
    took: performance.now() - sent,
  }
}
