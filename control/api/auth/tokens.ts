import { createHash, timingSafeEqual } from 'node:crypto'
import { Counter } from 'prom-client'
import { createNetworkLimit } from '../../../http/rate-limit.ts'
import type { Logger } from '../../../process/log.ts'
import { registry } from '../../../process/metrics.ts'
import type { RateLimit } from '../../../process/token-bucket.ts'
import type { Who } from '../../../settings/mask.ts'
import { type ApiResponse, problem } from '../response.ts'

/**
 * Who sends a request, and the proof: a token, or the session of someone who signed in with one. `address`:
 * the client's, even behind a trusted proxy.
 */
export type Caller = { who: Who; by: 'bearer' | 'cookie'; address: string; session?: Session | undefined }

/** `until`: expiry in seconds since 1970. */
export type Session = { id: string; until: number }

export type Tokens = { admin: string; view?: string | undefined }

/** The token in an `Authorization` header; undefined without one, or with another scheme. */
export const bearer = (header: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(header ?? '')?.[1]

/** @returns the role of a token; undefined if it is unknown. Takes the same time for every token. */
export function authenticator({ admin, view }: Tokens): (token: string) => Who | undefined {
  const known = { admin: digest(admin), view: view ? digest(view) : undefined }
  return (token) => {
    const given = digest(token)
    const isAdmin = timingSafeEqual(given, known.admin)
    const isView = known.view !== undefined && timingSafeEqual(given, known.view)
    if (isAdmin && admin) return 'admin'
    return isView ? 'view' : undefined
  }
}

/** Hashes have one length, so tokens of any length compare in constant time. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/**
 * The role of a token; undefined if it is unknown; or the response after too many wrong ones from this
 * network.
 */
export type TokenCheck = (token: string, ip: string) => Who | ApiResponse | undefined

/** `isOneOfMany`: the network is over its limit. */
export type OnWrong = (address: string, isOneOfMany: boolean) => void

/**
 * A valid token always passes, so wrong ones cannot lock others out. Guessing is hopeless because tokens have
 * at least 16 characters (config.ts) and compare in constant time; the limit only makes it visible.
 */
export function createTokenCheck(
  tokens: Tokens,
  wrongTokenLimit: WrongTokenLimit,
  { onWrong }: { onWrong: OnWrong },
): TokenCheck {
  const authenticate = authenticator(tokens)
  return (token, ip) => {
    const who = authenticate(token)
    if (who) return who
    const seconds = wrongTokenLimit.wrong(ip)
    onWrong(ip, seconds !== undefined)
    return seconds === undefined ? undefined : tooMany(seconds)
  }
}

const tooMany = (seconds: number): ApiResponse =>
  problem(
    { code: 'too_many_attempts', message: `This token is not valid; try again in ${seconds} s` },
    { 'retry-after': String(seconds) },
  )

export type WrongTokenLimit = {
  /** @returns whole seconds to wait if the network is over its limit. */
  wrong(ip: string): number | undefined
}

const LIMIT: RateLimit = { perSecond: 10 / 60, burst: 10 }

/** In the memory of one process. @param clock milliseconds, monotonic. */
export function createWrongTokenLimit(clock: () => number): WrongTokenLimit {
  const limit = createNetworkLimit(LIMIT, clock)
  return { wrong: (ip) => limit.draw(ip, 1) }
}

const wrongTokens = new Counter({
  name: 'sluice_control_wrong_tokens_total',
  help: 'Requests and sign-ins with an invalid token.',
  registers: [registry],
})

/** Logs the first ten of a network, then one every 6 s; counts all. */
export function logWrongTokens(log: Pick<Logger, 'warn'>): (address: string, isOneOfMany: boolean) => void {
  return (address, isOneOfMany) => {
    wrongTokens.inc()
    if (!isOneOfMany) log.warn({ audit: true, address }, 'wrong token')
  }
}
