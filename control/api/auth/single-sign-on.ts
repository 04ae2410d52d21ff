import type { FastifyInstance } from 'fastify'
import { Counter } from 'prom-client'
import { z } from 'zod'
import type { Logger } from '../../../process/log.ts'
import { registry } from '../../../process/metrics.ts'
import { audit } from '../audit.ts'
import { addPath, operation } from '../operation.ts'
import { type ApiResponse, problem } from '../response.ts'
import { createCookie, SESSION_COOKIE } from './cookies.ts'
import { type Claims, createProvider, type Flow, nameOf, type OidcSettings, roleOf } from './oidc.ts'
import type { Sessions } from './sessions.ts'
import { type TokenLimits, tooMany } from './tokens.ts'

export type SingleSignOnParts = {
  /** Undefined: not configured. */
  oidc: OidcSettings | undefined
  tokenLimits: Pick<TokenLimits, 'singleSignOn'>
  sessions: Pick<Sessions, 'issue'>
  log: Logger
}

/**
 * `expired`: the browser has no cookie of this sign-in: it took too long, or another one began meanwhile.
 * `cancelled`: the provider says that the person did not sign in. `not_allowed`: neither OIDC_ADMINS nor OIDC_VIEWERS
 * includes the person. `failed`: the provider did not answer, reported another error, or its answer was not valid.
 */
type SignOnFailure = 'expired' | 'cancelled' | 'not_allowed' | 'failed'

const outcomes = new Counter({
  name: 'sluice_control_single_sign_ons_total',
  help: 'Sign-ins through the identity provider, by outcome.',
  labelNames: ['outcome'],
  registers: [registry],
})

const PATH = '/single-sign-on'

const FLOW_S = 10 * 60
/** Browsers do not send `Strict` cookies when the provider redirects back. */
const FLOW_COOKIE = createCookie('sluice_single_sign_on', 'Lax')
/** state, nonce, verifier, and the page to return to in base64url. */
const FLOW = /^([\w-]{43})\.([\w-]{43})\.([\w-]{43})\.([\w-]*)$/

const beginShape = z.strictObject({
  returnTo: z
    .string()
    .max(1_000)
    // a path of this host: browsers read // and /\ as another host
    .regex(/^\/(?![/\\])[!-~]*$/, 'must be a path of the console, such as /destinations')
    .optional()
    .describe('The page of the console to show afterwards.'),
})

const callbackShape = z.looseObject({
  state: z.string().optional().describe('As sent to the provider.'),
  code: z.string().optional().describe('Exchanged for an ID token.'),
  error: z.string().optional().describe('Why the provider did not sign the person in.'),
})

const notConfigured = problem({
  code: 'not_found',
  message: 'Single sign-on is not configured: set OIDC_ISSUER',
})

const redirect = { description: 'Redirects the browser.', headers: ['location', 'set-cookie'] as const }

export function singleSignOnRoutes(api: FastifyInstance, parts: SingleSignOnParts): void {
  const { oidc, tokenLimits } = parts
  const provider = oidc && createProvider(oidc)

  const limited = (ip: string): ApiResponse | undefined => {
    const seconds = tokenLimits.singleSignOn(ip)
    if (seconds === undefined) return undefined
    outcomes.inc({ outcome: 'too_many' })
    return tooMany('Too many sign-ins from your network', seconds)
  }

  addPath(api, PATH, {
    GET: operation({
      summary: 'Sign in with the identity provider',
      description: 'For browsers: redirects to the provider.',
      access: 'anyone',
      query: beginShape,
      responses: { 302: redirect },
      errorCodes: ['not_found', 'too_many_attempts'],
      async handle({ query: { returnTo = '/' }, ip, protocol }) {
        if (!provider) return notConfigured
        const refused = limited(ip)
        if (refused) return refused
        try {
          const { address, ...flow } = await provider.begin()
          const cookie = FLOW_COOKIE.set(textOf({ ...flow, returnTo }), { protocol, maxAgeS: FLOW_S })
          return { status: 302, headers: { location: address, 'set-cookie': cookie } }
        } catch (error) {
          return failure('failed', { ...parts, protocol, error })
        }
      },
    }),
  })

  addPath(api, `${PATH}/callback`, {
    GET: operation({
      summary: 'Return from the identity provider',
      description: 'The provider redirects browsers here, and Sluice redirects them to the console.',
      access: 'anyone',
      query: callbackShape,
      responses: {
        302: redirect,
        303: {
          description:
            'Redirects to the console: this sign-in has expired, or another tab has begun a newer one.',
          headers: ['location'],
        },
      },
      errorCodes: ['not_found', 'too_many_attempts'],
      async handle({ query, headers: { cookie }, ip: address, protocol }) {
        if (!provider || !oidc) return notConfigured
        const flow = flowIn(FLOW_COOKIE.first(cookie, protocol))
        if (!flow || flow.state !== query.state) return staleReturn()
        const refused = limited(address)
        if (refused) return refused
        try {
          const claims = await provider.finish(textsOf(query), flow)
          if (!claims) return failure('cancelled', { ...parts, protocol })
          return signIn(claims, { ...parts, oidc, address, protocol, returnTo: flow.returnTo })
        } catch (error) {
          return failure('failed', { ...parts, protocol, error })
        }
      },
    }),
  })
}

type Returned = SingleSignOnParts & {
  oidc: OidcSettings
  address: string
  protocol: string
  returnTo: string
}

function signIn(claims: Claims, { oidc, sessions, address, protocol, returnTo, log }: Returned): ApiResponse {
  const [who, person] = [roleOf(claims, oidc), nameOf(claims)]
  if (who === undefined) {
    log.warn(
      { audit: true, person, subject: claims.sub, address },
      'sign-in refused: neither OIDC_ADMINS nor OIDC_VIEWERS includes this person',
    )
    return failure('not_allowed', { log, protocol })
  }
  const now = Date.now()
  const { text, session } = sessions.issue({ who, person }, { now })
  const caller = { who, person, by: 'single-sign-on', address, session } as const
  audit(log, caller, { what: 'session', outcome: 'created', subject: claims.sub })
  outcomes.inc({ outcome: 'signed_in' })
  const maxAgeS = session.until - Math.floor(now / 1000)
  return redirectTo(returnTo, { protocol, session: SESSION_COOKIE.set(text, { protocol, maxAgeS }) })
}

type Failed = { log: Pick<Logger, 'warn'>; protocol: string; error?: unknown }

/** The console explains the outcome. Browsers do not send the fragment to servers. */
function failure(outcome: SignOnFailure, { log, protocol, error }: Failed): ApiResponse {
  outcomes.inc({ outcome })
  if (error !== undefined) log.warn(reasonOf(error), 'single sign-on failed')
  return redirectTo(pageOf(outcome), { protocol })
}

const pageOf = (outcome: SignOnFailure) => `/#sign-in-error=${outcome}`

/** Also deletes the cookie with the secrets: the URL, with the state, may be in a proxy's log. */
function redirectTo(location: string, by: { protocol: string; session?: string }): ApiResponse {
  const done = FLOW_COOKIE.set('', { protocol: by.protocol, maxAgeS: 0 })
  return { status: 302, headers: { location, 'set-cookie': by.session ? [by.session, done] : [done] } }
}

/** Keeps the cookie: it may belong to a newer sign-in, in another tab. */
function staleReturn(): ApiResponse {
  outcomes.inc({ outcome: 'expired' })
  return { status: 303, headers: { location: pageOf('expired') } }
}

const MAX_REASON = 200
const MAX_CAUSES = 5

/** What the library says of an OAuth error (RFC 6749, 5.2), or of a 401 with `WWW-Authenticate` (RFC 9110, 11.6.1). */
const oauthErrorShape = z.object({
  status: z.number().optional().catch(undefined),
  error: z.string().optional().catch(undefined),
  error_description: z.string().optional().catch(undefined),
  cause: z.object({ status: z.number() }).optional().catch(undefined),
})

/** Names no tokens: the error itself may hold the provider's response. */
function reasonOf(error: unknown): Record<string, unknown> {
  const texts: string[] = []
  for (let each = error; each instanceof Error && texts.length < MAX_CAUSES; each = each.cause)
    // the message of a SyntaxError quotes the response; an AggregateError has only a code
    if (!(each instanceof SyntaxError)) texts.push((each.message || codeOf(each)).slice(0, MAX_REASON))
  const { status, error: code, error_description, cause } = oauthErrorShape.safeParse(error).data ?? {}
  const [httpStatus, description] = [status ?? cause?.status, error_description]
  return {
    reason: texts.join(': '),
    ...(httpStatus !== undefined && { status: httpStatus }),
    ...(code !== undefined && { code: code.slice(0, MAX_REASON) }),
    ...(description !== undefined && { description: description.slice(0, MAX_REASON) }),
  }
}

const codeOf = (error: Error) => ('code' in error ? String(error.code) : error.name)

type Page = { returnTo: string }

const textOf = ({ state, nonce, verifier, returnTo }: Flow & Page) =>
  [state, nonce, verifier, Buffer.from(returnTo).toString('base64url')].join('.')

function flowIn(cookie = ''): (Flow & Page) | undefined {
  const [, state, nonce, verifier, page = ''] = FLOW.exec(cookie) ?? []
  if (!state || !nonce || !verifier) return undefined
  const returnTo = Buffer.from(page, 'base64url').toString()
  return { state, nonce, verifier, returnTo: beginShape.safeParse({ returnTo }).data?.returnTo ?? '/' }
}

/** A repeated parameter is an array, which the flow does not allow (RFC 6749, 3.1). */
const textsOf = (query: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(query).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
