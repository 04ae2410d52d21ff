import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import type { Table } from '../../../kafka/tables/table.ts'
import type { Logger } from '../../../process/log.ts'
import { faultsOf } from '../../../settings/faults.ts'
import { idShape } from '../../../settings/settings.ts'
import { audit } from '../audit.ts'
import { writeConditionally } from '../conditional-write.ts'
import { type ApiRequest, addPath, json, operation } from '../operation.ts'
import { type ApiResponse, invalid, isoTime, problem, timeShape } from '../response.ts'
import { isHttps, SESSION_COOKIE } from './cookies.ts'
import { endRecord, type Sessions } from './sessions.ts'
import {
  type Caller,
  reportRefusedSignIn,
  type Session,
  type TokenCheck,
  type TokenLimits,
  tooMany,
} from './tokens.ts'

export type SessionRouteParts = {
  checkToken: TokenCheck
  tokenLimits: Pick<TokenLimits, 'signIn' | 'refusedSignIn'>
  sessions: Pick<Sessions, 'issue' | 'read'>
  tasks: { table: Pick<Table, 'caughtUp'> }
  taskWriter: Pick<FencedWriter, 'write'>
  log: Logger
}

/** Anyone may send this body. */
const TOKEN_BYTES = 4 * 1024
const signInShape = z.strictObject({ token: z.string().min(1) }).meta({ id: 'SignIn' })
const sessionShape = z
  .strictObject({
    who: z.enum(['admin', 'view', 'workspace']),
    workspaceId: idShape.nullable().describe('The workspace of a workspace token; otherwise null.'),
    person: z.string().nullable().describe('The person who signed in with single sign-on; otherwise null.'),
    expiresAt: timeShape.describe(
      'When the session or the workspace token ends. Null for an admin or view token.',
    ),
  })
  .meta({ id: 'Session' })

const wrong = problem(
  { code: 'unauthorized', message: 'This token is not valid' },
  { 'www-authenticate': 'Bearer realm="sluice"' },
)

const notEnded = problem(
  {
    code: 'unavailable',
    message: 'Kafka does not answer, so the session may still be valid: sign out again',
  },
  { 'retry-after': '5' },
)

export function sessionRoutes(api: FastifyInstance, parts: SessionRouteParts): void {
  addPath(api, '/session', {
    GET: operation({
      summary: 'Show who is signed in',
      responses: { 200: { description: 'The role of the caller.', body: sessionShape } },
      inWorkspace: true,
      handle: ({ caller: { who, workspaceId = null, person = null, session } }) => ({
        status: 200,
        body: { who, workspaceId, person, expiresAt: isoTime(session && session.until * 1000) },
      }),
    }),
    POST: operation({
      summary: 'Sign in with a token',
      access: 'anyone',
      body: { ...json(signInShape), limit: TOKEN_BYTES },
      responses: {
        204: {
          description: 'Signed in for 12 hours, or as long as the workspace token is valid.',
          headers: ['set-cookie'],
        },
      },
      errorCodes: ['unauthorized', 'too_many_attempts'],
      handle: (request) => signIn(request, parts),
    }),
    DELETE: operation({
      summary: 'Sign out',
      description:
        'Ends the session or workspace token for everyone who uses it. Every control process knows within a second.',
      access: 'view',
      inWorkspace: true,
      responses: { 204: { description: 'Signed out.', headers: ['set-cookie'] } },
      handle: createSignOut(parts),
    }),
  })
}

function signIn(
  { body, ip, protocol }: ApiRequest,
  { checkToken, tokenLimits, sessions, log }: SessionRouteParts,
): ApiResponse {
  const given = signInShape.safeParse(body, { reportInput: true })
  if (!given.success) return invalid(faultsOf(given.error, signInShape))
  const result = checkToken(given.data.token, ip)
  if (result === undefined) return wrong
  if (!('who' in result)) return result
  const { who } = result
  const seconds = tokenLimits.signIn(who, ip)
  if (seconds !== undefined) {
    reportRefusedSignIn({ who, address: ip }, { tokenLimits, log })
    return tooMany('Too many sign-ins from your network', seconds)
  }
  const now = Date.now()
  // the cookie of a workspace token is the token itself, so that signing out ends both
  const own = result.session && { text: given.data.token, session: result.session }
  const { text, session } = own ?? sessions.issue(result, { now })
  audit(log, { ...result, by: 'bearer', address: ip, session }, { what: 'session', outcome: 'created' })
  const maxAgeS = session.until - Math.floor(now / 1000)
  return { status: 204, headers: { 'set-cookie': SESSION_COOKIE.set(text, { protocol, maxAgeS }) } }
}

function createSignOut(parts: SessionRouteParts): (request: ApiRequest) => Promise<ApiResponse> {
  const { tokenLimits, sessions } = parts
  const endOnce = createEndOnce(parts)

  /**
   * Also ends copies of the cookie. A request may have a token and the cookie of the other scheme too: an administrator
   * may end a stolen https session over http, on the machine itself. Over http, another host of the site can put its
   * cookies before ours.
   */
  return async ({ caller, headers: { cookie }, protocol }) => {
    // even if they have expired by our clock: other processes' clocks may be right
    const own = [...SESSION_COOKIE.all(cookie, protocol)].map((each) => sessions.read(each))
    const others = SESSION_COOKIE.all(cookie, isHttps(protocol) ? 'http' : 'https')
    const current = [...others].map((each) => sessions.read(each, Date.now()))
    const found = [...own, ...current].flatMap((read) => read?.session ?? [])
    // of a workspace token
    if (caller.by === 'bearer' && caller.session) found.push(caller.session)
    const leaving = new Map(found.map((session) => [session.id, session]))
    const endings: Promise<boolean>[] = []
    let seconds: number | undefined
    for (const session of leaving.values()) {
      const isExpired = session.until * 1000 <= Date.now()
      // expired cookies can be collected for months, so each of these sign-outs counts as a sign-in
      const wait = isExpired ? tokenLimits.signIn(caller.who, caller.address) : undefined
      if (wait === undefined) endings.push(endOnce({ ...caller, session }))
      seconds ??= wait
    }
    const ended = await Promise.all(endings)
    if (ended.includes(false)) return notEnded
    if (seconds !== undefined) return tooMany('Too many sign-outs from your network', seconds)
    return { status: 204, headers: { 'set-cookie': SESSION_COOKIE.set('', { protocol, maxAgeS: 0 }) } }
  }
}

type Leaving = Caller & { session: Session }

/** One record and one audit line, even if thousands of requests end the session at once. */
function createEndOnce(parts: SessionRouteParts): (caller: Leaving) => Promise<boolean> {
  const ending = new Map<string, Promise<boolean>>()

  async function end(caller: Leaving): Promise<boolean> {
    const isEnded = await endSession(caller.session, parts)
    audit(parts.log, caller, { what: 'session', outcome: isEnded ? 'removed' : 'unavailable' })
    return isEnded
  }

  return (caller) => {
    const { id } = caller.session
    const ended = ending.get(id) ?? end(caller).finally(() => ending.delete(id))
    ending.set(id, ended)
    return ended
  }
}

async function endSession(
  session: Session,
  { tasks, taskWriter: writer, log }: SessionRouteParts,
): Promise<boolean> {
  const outcome = await writeConditionally(
    { tables: [tasks.table], writer, log },
    { decide: () => session, records: (ended) => [endRecord(ended)] },
  )
  return outcome !== 'unavailable' && !('refusal' in outcome)
}
