import { createHash, timingSafeEqual } from 'node:crypto'
import { Counter } from 'prom-client'
import { createNetworkLimit } from '../../../http/rate-limit.ts'
import type { Logger } from '../../../process/log.ts'
import { registry } from '../../../process/metrics.ts'
import type { RateLimit } from '../../../process/token-bucket.ts'
import type { Who } from '../../../settings/mask.ts'
import { type ApiResponse, problem } from '../response.ts'

/**
 * Who asks, and how that is known: by the token itself, or by the session of who signed in with it. `address`: of the client, also behind a
 * trusted proxy.
 */
export type Caller = { who: Who; by: 'bearer' | 'cookie'; address: string; session?: Session | undefined }

/** `until`: when it is over, in seconds since 1970. */
export type Session = { id: string; until: number }

export type Tokens = { admin: string; view?: string | undefined }

/** The token in an `Authorization` header; undefined: there is none, or it is of another scheme. */
export const bearer = (header: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(header ?? '')?.[1]

/** Tells whose a token is; undefined: nobody's. The time it takes says nothing of the tokens. */
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

/** Hashed, tokens of any length can be compared in constant time. */
function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Whose a token from an address is; undefined: nobody's. Or what to answer after too many wrong ones. */
export type TokenCheck = (token: string, ip: string) => Who | ApiResponse | undefined

/** Told of each wrong token. `isOneOfMany`: too many have come from there of late. */
export type OnWrong = (address: string, isOneOfMany: boolean) => void

/**
 * A right token always passes: whoever sends wrong ones cannot keep others out, from whatever address. What makes guessing
 * hopeless is that tokens have 16 characters at least (config.ts), compared in constant time; that too many wrong ones are told to
 * wait only tells of it.
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
    { code: 'too_many_attempts', message: `This is no token of this system; try the next in ${seconds} s` },
    { 'retry-after': String(seconds) },
  )

/** Wrong tokens, by the network that they come from. */
export type WrongTokenLimit = {
  /** Counts one more. @returns whole seconds to wait, when too many have come from there of late. */
  wrong(ip: string): number | undefined
}

const LIMIT: RateLimit = { perSecond: 10 / 60, burst: 10 }

/** In memory, of one process. @param clock milliseconds, monotonic. */
export function createWrongTokenLimit(clock: () => number): WrongTokenLimit {
  const limit = createNetworkLimit(LIMIT, clock)
  return { wrong: (ip) => limit.draw(ip, 1) }
}

const wrongTokens = new Counter({
  name: 'sluice_control_wrong_tokens_total',
  help: 'Requests and sign-ins with a token that is none of this system.',
  registers: [registry],
})

/** The first ten of a network are logged, and then one in 6 s; all are counted. */
export function logWrongTokens(log: Pick<Logger, 'warn'>): (address: string, isOneOfMany: boolean) => void {
  return (address, isOneOfMany) => {
    wrongTokens.inc()
    if (!isOneOfMany) log.warn({ audit: true, address }, 'a wrong token')
  }
}
