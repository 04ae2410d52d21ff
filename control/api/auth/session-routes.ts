import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import type { Logger } from '../../../process/log.ts'
import { faultsOf } from '../../../settings/faults.ts'
import type { Tasks } from '../../tasks/task-table.ts'
import { audit } from '../audit.ts'
import { writeConditionally } from '../conditional-write.ts'
import { type ApiRequest, addPath, json, operation } from '../operation.ts'
import { type ApiResponse, invalid, problem } from '../response.ts'
import { endRecord, SESSION_S, type Sessions } from './sessions.ts'
import type { TokenCheck } from './tokens.ts'

export type SessionRouteParts = {
  checkToken: TokenCheck
  sessions: Pick<Sessions, 'issue'>
  tasks: Pick<Tasks, 'table'>
  taskWriter: Pick<FencedWriter, 'write'>
  log: Logger
}

/** A token has 1,024 characters at most. Anyone at all may send it. */
const TOKEN_BYTES = 4 * 1024
const signInShape = z.strictObject({ token: z.string().min(1).max(1_024) }).meta({ id: 'SignIn' })
const sessionShape = z.strictObject({ who: z.enum(['admin', 'view']) }).meta({ id: 'Session' })

const wrong = problem(
  { code: 'unauthorized', message: 'This is no token of this system' },
  { 'www-authenticate': 'Bearer realm="sluice"' },
)

const notEnded = problem(
  { code: 'unavailable', message: 'Kafka does not answer, so the session may not be over: sign out again' },
  { 'retry-after': '5' },
)

/** `/session`: sign in with a token, so that a browser need not keep it; who is signed in; sign out. */
export function sessionRoutes(api: FastifyInstance, parts: SessionRouteParts): void {
  const { checkToken, sessions, log } = parts

  function signIn({ body, ip, protocol }: ApiRequest): ApiResponse {
    const given = signInShape.safeParse(body, { reportInput: true })
    if (!given.success) return invalid(faultsOf(given.error))
    const result = checkToken(given.data.token, ip)
    if (result === undefined) return wrong
    if (typeof result !== 'string') return result
    const { cookie, session } = sessions.issue(result, Date.now())
    audit(log, { who: result, by: 'bearer', address: ip, session }, { what: 'session', outcome: 'created' })
    return { status: 204, headers: { 'set-cookie': sessionCookie(cookie, { protocol }) } }
  }

  /** A copy of the cookie that somebody may have is of no use from then on. */
  async function signOut({ caller, protocol }: ApiRequest): Promise<ApiResponse> {
    const { session } = caller
    if (session) {
      const { tasks, taskWriter: writer } = parts
      const outcome = await writeConditionally(
        { tables: [tasks.table], writer, log },
        { decide: () => session, records: (ended) => [endRecord(ended)] },
      )
      if (outcome === 'unavailable' || 'refusal' in outcome) {
        audit(log, caller, { what: 'session', outcome: 'unavailable' })
        return notEnded
      }
      audit(log, caller, { what: 'session', outcome: 'removed' })
    }
    return { status: 204, headers: { 'set-cookie': sessionCookie('', { protocol }) } }
  }

  addPath(api, '/session', {
    GET: operation({
      summary: 'Who is signed in',
      responses: { 200: { description: 'Who asks.', body: sessionShape } },
      handle: ({ who }) => ({ status: 200, body: { who } }),
    }),
    POST: operation({
      summary: 'Sign in with a token',
      access: 'anyone',
      body: { ...json(signInShape), limit: TOKEN_BYTES },
      responses: { 204: { description: 'Signed in, for 12 hours.', headers: ['set-cookie'] } },
      errorCodes: ['unauthorized', 'too_many_attempts'],
      handle: signIn,
    }),
    DELETE: operation({
      summary: 'Sign out',
      description:
        'The session is over for whoever has its cookie, within a second in every control process.',
      access: 'view',
      responses: { 204: { description: 'Signed out.', headers: ['set-cookie'] } },
      handle: signOut,
    }),
  })
}

/** By https browsers take it from this very host alone, and no other host of the domain can set it (RFC 6265bis, 4.1.3.2). */
const nameFor = (protocol: string) => (protocol === 'https' ? '__Host-sluice_session' : 'sluice_session')

/** The session that a `Cookie` header brings. */
export const sessionIn = (header: string | undefined, protocol: string): string | undefined =>
  header === undefined ? undefined : parseCookie(header)[nameFor(protocol)]

/** A `Set-Cookie` that no script can read, and no other site can send. `''` takes it away. */
export const sessionCookie = (session: string, { protocol }: { protocol: string }): string =>
  stringifySetCookie({
    name: nameFor(protocol),
    value: session,
    maxAge: session === '' ? 0 : SESSION_S,
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: protocol === 'https',
  })
