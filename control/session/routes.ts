import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Logger } from '../../log.ts'
import { audit } from '../audit.ts'
import { type Answer, invalid, problem } from '../http/answer.ts'
import { faultsOf } from '../http/faults.ts'
import { type Asked, json, operation } from '../http/operation.ts'
import { path } from '../http/serve.ts'
import { sessionCookie } from './cookie.ts'
import type { Judge } from './judge.ts'
import type { Sessions } from './signed.ts'

export type SessionRouteParts = {
  judge: Judge
  sessions: Pick<Sessions, 'issue'>
  log: Pick<Logger, 'info'>
}

/** A token has 1,024 characters at most. Anyone at all may send it. */
const TOKEN_BYTES = 4 * 1024
const signInShape = z.strictObject({ token: z.string().min(1).max(1_024) }).meta({ id: 'SignIn' })
const sessionShape = z.strictObject({ who: z.enum(['admin', 'view']) }).meta({ id: 'Session' })

const wrong = problem(
  { code: 'unauthorized', message: 'This is no token of this system' },
  { 'www-authenticate': 'Bearer realm="sluice"' },
)

/** `/session`: sign in with a token, so that a browser need not keep it; who is signed in; sign out. */
export function sessionRoutes(api: FastifyInstance, { judge, sessions, log }: SessionRouteParts): void {
  function signIn({ body, ip, protocol }: Asked): Answer {
    const given = signInShape.safeParse(body, { reportInput: true })
    if (!given.success) return invalid(faultsOf(given.error))
    const judged = judge(given.data.token, ip)
    if (judged === undefined) return wrong
    if (typeof judged !== 'string') return judged
    audit(log, { who: judged, by: 'bearer' }, { what: 'session', outcome: 'created' })
    const cookie = sessionCookie(sessions.issue(judged, Date.now()), { protocol })
    return { status: 204, headers: { 'set-cookie': cookie } }
  }

  path(api, '/session', {
    GET: operation({
      summary: 'Who is signed in',
      answers: { 200: { description: 'Who asks.', body: sessionShape } },
      handle: ({ who }) => ({ status: 200, body: { who } }),
    }),
    POST: operation({
      summary: 'Sign in with a token',
      access: 'anyone',
      body: { ...json(signInShape), limit: TOKEN_BYTES },
      answers: { 204: { description: 'Signed in, for 12 hours.', headers: ['set-cookie'] } },
      refuses: ['unauthorized', 'too_many_attempts'],
      handle: signIn,
    }),
    DELETE: operation({
      summary: 'Sign out',
      access: 'view',
      answers: { 204: { description: 'Signed out.', headers: ['set-cookie'] } },
      handle({ who, by, protocol }) {
        audit(log, { who, by }, { what: 'session', outcome: 'removed' })
        return { status: 204, headers: { 'set-cookie': sessionCookie('', { protocol }) } }
      },
    }),
  })
}
