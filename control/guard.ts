import type { FastifyInstance } from 'fastify'
import type { Probe } from '../metrics.ts'
import { problem } from './answer.ts'
import { authenticator, type Tokens } from './auth.ts'
import { send } from './http.ts'

const unauthorized = problem(
  401,
  { code: 'unauthorized', message: 'Send Authorization: Bearer with the control token' },
  { 'www-authenticate': 'Bearer realm="sluice"' },
)
const readOnly = problem(403, { code: 'read_only', message: 'This token may only read: use the admin token' })
const notReady = problem(
  503,
  { code: 'unavailable', message: 'This process is starting or ending: try again in a moment' },
  { 'retry-after': '1' },
)

const READS = new Set(['GET', 'HEAD'])

/** Who may pass, before any body is read. Sets `request.who`. */
export function guard(api: FastifyInstance, { tokens, probe }: { tokens: Tokens; probe: Probe }): void {
  const authenticate = authenticator(tokens)
  api.addHook('onRequest', async (request, reply) => {
    // write keys are in some of the answers
    reply.header('cache-control', 'no-store')
    const who = authenticate(request.headers.authorization)
    if (!who) return send(reply, unauthorized)
    request.who = who
    if (who === 'view' && !READS.has(request.method)) return send(reply, readOnly)
    // an answer from half of the settings, at the start or after a fatal one, would show the others as removed
    return probe.notReady() === undefined ? undefined : send(reply, notReady)
  })
}
