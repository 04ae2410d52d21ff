import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { post } from './fleet.ts'

export type OpenLoadOptions = { urls: readonly string[]; writeKey: string; perSecond: number }

/** Times in ms of `performance.now()`. */
export type Call = {
  messageId: string
  userId: string
  /** When the call was due, so that a slow load generator hides no delay. */
  madeAt: number
  /** When it was answered with 200. */
  acceptedAt: number | undefined
}

export type OpenLoad = {
  calls: readonly Call[]
  /** By reason. */
  refused: ReadonlyMap<string, number>
  /** Makes no more calls. Resolves when every call is accepted. */
  drain(): Promise<void>
}

const TIMEOUT_MS = 15_000
const TICK_MS = 5
const AGAIN_MS = 100
const USERS = 500

/**
 * An open loop: a fixed rate, whatever the answers. A call that is not accepted goes to the next instance with the same
 * id after the requested delay.
 */
export function startOpenLoad({ urls, writeKey, perSecond }: OpenLoadOptions): OpenLoad {
  const dispatcher = new Agent({ connections: 256 })
  const calls: Call[] = []
  const refused = new Map<string, number>()
  const open = new Set<Promise<void>>()
  const start = performance.now()

  async function make(call: Call, first: number): Promise<void> {
    const body = bodyOf(call, writeKey)
    for (let index = first; ; index++) {
      const refusal = await attempt(urls[index % urls.length] ?? '', { body, dispatcher })
      if (refusal === undefined) break
      refused.set(refusal.why, (refused.get(refusal.why) ?? 0) + 1)
      await sleep(refusal.waitMs)
    }
    call.acceptedAt = performance.now()
  }

  const timer = setInterval(() => {
    for (const now = performance.now(); ; ) {
      const madeAt = start + (calls.length * 1_000) / perSecond
      if (madeAt > now) return
      const number = calls.length
      const ids = { messageId: `call-${number}`, userId: `user-${number % USERS}` }
      const call: Call = { ...ids, madeAt, acceptedAt: undefined }
      const making = make(call, number).finally(() => open.delete(making))
      calls.push(call)
      open.add(making)
    }
  }, TICK_MS)

  return {
    calls,
    refused,
    async drain() {
      clearInterval(timer)
      await Promise.all(open)
      await dispatcher.close()
    },
  }
}

const bodyOf = ({ messageId, userId }: Call, writeKey: string) =>
  JSON.stringify({
    ...{ writeKey, type: 'track', userId, event: 'Ordered', messageId },
    properties: { text: 'x'.repeat(500) },
  })

type Refusal = { why: string; waitMs: number }

/** Undefined: accepted. */
async function attempt(
  url: string,
  request: { body: string; dispatcher: Agent },
): Promise<Refusal | undefined> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const { status, code, retryAfter } = await post(`${url}/v1/track`, { ...request, signal })
    return status === 200 ? undefined : { why: `${status} ${code}`, waitMs: retryAfter ?? AGAIN_MS }
  } catch (error) {
    return { why: reasonOf(error), waitMs: AGAIN_MS }
  }
}

/** A timeout's code is a number. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
