import { createHash, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { Counter } from 'prom-client'
import { createNetworkLimit } from '../../../http/rate-limit.ts'
import type { Logger } from '../../../process/log.ts'
import { registry } from '../../../process/metrics.ts'
import type { RateLimit } from '../../../process/token-bucket.ts'
import type { Who } from '../../../settings/mask.ts'
import { type ApiResponse, problem } from '../response.ts'
import type { Sessions } from './sessions.ts'

/** `workspaceId`: only with `workspace`. `person`: with single sign-on. */
export type Identity = { who: Who; workspaceId?: string | undefined; person?: string | undefined }

/** `address`: the client's, even behind a trusted proxy. `session`: of a cookie or a workspace token. */
export type Caller = Identity & {
  by: 'bearer' | 'cookie' | 'single-sign-on'
  address: string
  session?: Session | undefined
}

/** `until`: expiry in seconds since 1970. */
export type Session = { id: string; until: number }

/** `singleSignOn`: a hash of the settings that decide who may sign in; undefined if not configured. */
export type Tokens = { admin: string; view?: string | undefined; singleSignOn?: string | undefined }

/** All text after the scheme, so that a guess of any form is counted. Undefined if there is none, or another scheme. */
export const bearer = (header: string | undefined): string | undefined =>
  /^Bearer +(\S.*)$/i.exec(header ?? '')?.[1]

/** @returns undefined for an unknown token. Takes the same time for every token. */
export function authenticator({ admin, view }: Tokens): (token: string) => 'admin' | 'view' | undefined {
  const known = { admin: digest(admin), view: view ? digest(view) : undefined }
  return (token) => {
    const given = digest(token)
    const isAdmin = timingSafeEqual(given, known.admin)
    const isView = known.view !== undefined && timingSafeEqual(given, known.view)
    if (isAdmin && admin) return 'admin'
    return isView ? 'view' : undefined
  }
}

/** Makes tokens of any length compare in constant time. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Undefined for an unknown token; a response to one that has expired, or after too many from this network. */
export type TokenCheck = (
  token: string,
  ip: string,
) => (Identity & { session?: Session }) | ApiResponse | undefined

/** `isOneOfMany`: the network is over its limit. */
export type OnWrong = (address: string, isOneOfMany: boolean) => void

/**
 * A valid token always passes, so wrong ones lock nobody out. The limit bounds what is logged, not guessing: tokens
 * have at least 16 characters (config.ts).
 */
export function createTokenCheck(
  tokens: Tokens,
  limits: Pick<TokenLimits, 'wrong'>,
  { sessions, onWrong }: { sessions: Pick<Sessions, 'read'>; onWrong: OnWrong },
): TokenCheck {
  const authenticate = authenticator(tokens)
  return (token, ip) => {
    const who = authenticate(token)
    if (who) return { who }
    // another role's cookie is not a bearer token: it would need no header against CSRF
    const known = sessions.read(token)
    if (known?.who === 'workspace') return sessions.read(token, Date.now()) ?? expired
    const seconds = limits.wrong(ip)
    onWrong(ip, seconds !== undefined)
    return seconds === undefined ? undefined : tooMany('This token is not valid', seconds)
  }
}

const expired = problem(
  { code: 'unauthorized', message: 'This token has expired: ask for a new one' },
  { 'www-authenticate': 'Bearer realm="sluice", error="invalid_token"' },
)

export const tooMany = (what: string, seconds: number): ApiResponse =>
  problem(
    { code: 'too_many_attempts', message: `${what}: try again in ${seconds} s` },
    { 'retry-after': String(seconds) },
  )

/** Whole seconds to wait if the network is over its limit. */
export type TokenLimits = {
  wrong(ip: string): number | undefined
  /** With a valid token. */
  signIn(who: Who, ip: string): number | undefined
  /** For each redirect to or from the identity provider. */
  singleSignOn(ip: string): number | undefined
  /** Limits the log lines of refused sign-ins. `wrong` does not: they must not hide wrong tokens. */
  refusedSignIn(who: Who, ip: string): number | undefined
  /** A search that can find a user. Most add an audit line, which is kept for 90 days. */
  search(caller: Pick<Caller, 'who' | 'address'>): number | undefined
  /** Whether the caller searched for the same in the last ten minutes. */
  isRepeated(caller: Caller, filter: object): boolean
  /** Their next repetitions have audit lines again. */
  forgetSearches(): void
}

const WRONG: RateLimit = { perSecond: 10 / 60, burst: 10 }
/**
 * Control remembers a sign-out for up to 14 hours (sessions.ts): at most 8,460 per network and token, or 4.8 MB. The
 * burst lets an office sign in.
 */
const SIGN_INS: RateLimit = { perSecond: 10 / 60, burst: 60 }
/** Each single sign-on takes two. */
const REDIRECTS: RateLimit = { perSecond: 20 / 60, burst: 120 }
const SEARCHES: RateLimit = { perSecond: 10, burst: 100 }
/** Each has some hundred bytes, because a hash stands for the filter. */
const REPEATS = { max: 1_000, ttl: 10 * 60_000, ttlResolution: 0 }

/** Per process. @param clock milliseconds, monotonic. */
export function createTokenLimits(clock: () => number): TokenLimits {
  const wrong = createNetworkLimit(WRONG, clock)
  const singleSignOns = createNetworkLimit(REDIRECTS, clock)
  // one per token, so that readers cannot lock out the admin
  const forEach = (limit: RateLimit) => ({
    admin: createNetworkLimit(limit, clock),
    view: createNetworkLimit(limit, clock),
    workspace: createNetworkLimit(limit, clock),
  })
  const [signIns, refused, searches] = [forEach(SIGN_INS), forEach(WRONG), forEach(SEARCHES)]
  const repeats = new LRUCache<string, true>({ ...REPEATS, perf: { now: clock } })
  return {
    wrong: (ip) => wrong.draw(ip, 1),
    singleSignOn: (ip) => singleSignOns.draw(ip, 1),
    signIn: (who, ip) => signIns[who].draw(ip, 1),
    refusedSignIn: (who, ip) => refused[who].draw(ip, 1),
    search: ({ who, address }) => searches[who].draw(address, 1),
    isRepeated({ who, by, address, session }, filter) {
      const search = digest(JSON.stringify([who, by, address, session?.id, filter])).toString('base64')
      const isRepeated = repeats.has(search)
      if (!isRepeated) repeats.set(search, true)
      return isRepeated
    },
    forgetSearches: () => repeats.clear(),
  }
}

const wrongTokens = new Counter({
  name: 'sluice_control_wrong_tokens_total',
  help: 'Requests and sign-ins with an invalid token.',
  registers: [registry],
})

/** Logs the first ten of a network, then one every 6 s. Counts all. */
export function logWrongTokens(log: Pick<Logger, 'warn'>): (address: string, isOneOfMany: boolean) => void {
  return (address, isOneOfMany) => {
    wrongTokens.inc()
    if (!isOneOfMany) log.warn({ audit: true, address }, 'wrong token')
  }
}

const refusedSignIns = new Counter({
  name: 'sluice_control_refused_sign_ins_total',
  help: 'Sign-ins with a correct token that were refused because their network signs in too often.',
  registers: [registry],
})

/** Counts each one. Logs as many per token and network as wrong tokens. */
export function reportRefusedSignIn(
  { who, address }: Pick<Caller, 'who' | 'address'>,
  { tokenLimits, log }: { tokenLimits: Pick<TokenLimits, 'refusedSignIn'>; log: Pick<Logger, 'warn'> },
): void {
  refusedSignIns.inc()
  if (tokenLimits.refusedSignIn(who, address) === undefined)
    log.warn({ audit: true, who, address }, 'too many sign-ins')
}
