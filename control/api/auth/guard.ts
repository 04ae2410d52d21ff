import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Probe } from '../../../process/metrics.ts'
import { accessTo, isRead, send } from '../operation.ts'
import { type ApiResponse, problem } from '../response.ts'
import { sessionIn } from './session-routes.ts'
import type { Sessions } from './sessions.ts'
import { bearer, type Caller, type TokenCheck } from './tokens.ts'

declare module 'fastify' {
  interface FastifyRequest {
    who: Caller['who']
    caller: Caller
  }
}

export type GuardParts = { checkToken: TokenCheck; sessions: Pick<Sessions, 'read'>; probe: Probe }

const unauthorized = problem(
  { code: 'unauthorized', message: 'Send Authorization: Bearer with the control token, or sign in' },
  { 'www-authenticate': 'Bearer realm="sluice"' },
)
const unknownToken = problem(
  { code: 'unauthorized', message: 'This is no token of this system' },
  // RFC 6750, 3.1
  { 'www-authenticate': 'Bearer realm="sluice", error="invalid_token"' },
)
const csrf = problem({
  code: 'csrf',
  message: 'Send X-Requested-With with a change by cookie, whatever it says',
})
const readOnly = problem({ code: 'read_only', message: 'This token may only read: use the admin token' })
const notReady = problem(
  { code: 'unavailable', message: 'This process is starting or ending: try again in a moment' },
  { 'retry-after': '1' },
)

/** Who may pass, before any body is read. Sets `request.who` and `request.caller`. */
export function guard(api: FastifyInstance, parts: GuardParts): void {
  const identify = identifier(parts)
  api.decorateRequest('who', 'view')
  api.decorateRequest('caller')
  api.addHook('onRequest', async (request, reply) => {
    // write keys are in some of the answers
    reply.header('cache-control', 'no-store')
    const { method, headers } = request
    const access = accessTo(method, request.routeOptions.config.operation)
    if (access === 'anyone') return undefined
    const caller = identify(request)
    if ('status' in caller) return send(reply, caller)
    request.who = caller.who
    request.caller = caller
    // another site can have a browser send a cookie, but no header of its own
    if (caller.by === 'cookie' && !isRead(method) && !headers['x-requested-with']) return send(reply, csrf)
    if (caller.who === 'view' && access === 'admin') return send(reply, readOnly)
    // an answer from half of the settings, at the start or after a fatal one, would show the others as removed
    return parts.probe.notReady() === undefined ? undefined : send(reply, notReady)
  })
}

/** A token goes before a cookie; that of a session is signed, and cannot be guessed. */
function identifier({ checkToken, sessions }: GuardParts): (request: FastifyRequest) => Caller | ApiResponse {
  return ({ headers, ip: address, protocol }) => {
    const token = bearer(headers.authorization)
    if (token !== undefined) {
      const result = checkToken(token, address)
      return typeof result === 'string' ? { who: result, by: 'bearer', address } : (result ?? unknownToken)
    }
    const cookie = sessionIn(headers.cookie, protocol)
    const read = cookie === undefined ? undefined : sessions.read(cookie, Date.now())
    return read ? { ...read, by: 'cookie', address } : unauthorized
  }
}
