import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Probe } from '../../../http/probes.ts'
import type { Table } from '../../../kafka/tables/table.ts'
import { withTimeout } from '../../../process/timeout.ts'
import { CLIENT_WAIT_MS } from '../concurrency.ts'
import { accessTo, isRead, isStreamed, refuseEarly, send } from '../operation.ts'
import { type ApiResponse, problem } from '../response.ts'
import { SESSION_COOKIE } from './cookies.ts'
import type { Sessions } from './sessions.ts'
import { bearer, type Caller, type TokenCheck } from './tokens.ts'

declare module 'fastify' {
  interface FastifyRequest {
    who: Caller['who']
    caller: Caller
  }
}

export type GuardParts = {
  checkToken: TokenCheck
  sessions: Pick<Sessions, 'read'>
  /** Topic `tasks` also says which sessions have ended. */
  tasks: { table: Pick<Table, 'caughtUp'> }
  probe: Probe
}

const unauthorized = problem(
  { code: 'unauthorized', message: 'Send Authorization: Bearer with a control token, or sign in' },
  { 'www-authenticate': 'Bearer realm="sluice"' },
)
const unknownToken = problem(
  { code: 'unauthorized', message: 'This token is not valid' },
  // RFC 6750, 3.1
  { 'www-authenticate': 'Bearer realm="sluice", error="invalid_token"' },
)
const csrf = problem({
  code: 'csrf',
  message: 'Changes made with a session cookie need the header X-Requested-With (any value)',
})
const readOnly = problem({
  code: 'read_only',
  message: 'You may only read: use the admin token, or sign in as an admin',
})
const outsideWorkspace = problem({
  code: 'outside_workspace',
  message:
    'A workspace token may only manage the destinations of its workspace, and see their sources and deliveries',
})
const notReady = problem(
  { code: 'unavailable', message: 'This process is starting or shutting down: try again in a moment' },
  { 'retry-after': '1' },
)
const notCaughtUp = problem(
  {
    code: 'unavailable',
    message: 'Kafka does not answer, so your session cannot be checked. Nothing has changed: try again',
  },
  { 'retry-after': '5' },
)

/** Runs before the body is read. */
export function guard(api: FastifyInstance, parts: GuardParts): void {
  const identify = identifier(parts)
  api.decorateRequest('who', 'view')
  api.decorateRequest('caller')
  refuseEarly(api, (request, reply) => {
    // some responses hold write keys
    reply.header('cache-control', 'no-store')
    const { method, headers } = request
    const access = accessTo(method, request.routeOptions.config.operation)
    if (access === 'anyone') return undefined
    const caller = identify(request)
    if ('status' in caller) return caller
    request.who = caller.who
    request.caller = caller
    // another site can make a browser send the cookie, but not a custom header
    if (caller.by === 'cookie' && !isRead(method) && !headers['x-requested-with']) return csrf
    if (caller.who === 'view' && access === 'admin') return readOnly
    if (caller.who === 'workspace' && !request.routeOptions.config.operation?.inWorkspace)
      return outsideWorkspace
    // at startup or after a fatal error, missing settings would seem removed
    return parts.probe.notReady() === undefined ? undefined : notReady
  })
  const isSignedIn = ({ headers, protocol }: FastifyRequest) =>
    parts.sessions.read(
      bearer(headers.authorization) ?? SESSION_COOKIE.first(headers.cookie, protocol) ?? '',
      Date.now(),
    ) !== undefined
  // after a pause or without Kafka, this process may not know yet which sessions have ended
  const catchUp = () => withTimeout(parts.tasks.table.caughtUp(CLIENT_WAIT_MS), CLIENT_WAIT_MS)
  // a body may arrive after the session has ended. Not async, as in `refuseEarly`
  api.addHook('preHandler', (request, reply, done) => {
    if (!request.caller?.session) return done()
    const { raw, routeOptions } = request
    const { operation } = routeOptions.config
    function proceed(): void {
      if (!isSignedIn(request)) return void send(reply, unauthorized)
      if (isStreamed(operation)) endWithSession(raw, () => isSignedIn(request), cutOff())
      done()
    }
    if (operation === undefined || accessTo(request.method, operation) !== 'admin') return proceed()
    void catchUp().then(proceed, () => void send(reply, notCaughtUp))
  })
  api.addHook('onSend', async (request, _reply, payload) => {
    if (request.caller?.session && payload instanceof Readable)
      endWithSession(payload, () => isSignedIn(request))
  })
}

const CHECK_MS = 500

/** Looks as if the client had left, which handlers expect. */
const cutOff = () => Object.assign(new Error('the session has ended'), { code: 'ECONNRESET' })

/** Ends a stream at sign-out, or after 12 hours. */
function endWithSession(stream: Readable, isValid: () => boolean, error?: Error): void {
  if (stream.closed) return
  const checking = setInterval(() => {
    if (!isValid()) stream.destroy(error)
  }, CHECK_MS)
  stream.once('close', () => clearInterval(checking))
}

/**
 * A page on another host, even of the same site, could make the browser search in the operator's name. Chromium sends no
 * `Sec-Fetch-Site` in the handshake of a WebSocket. For a page's prefetches and background fetches, it sends `none`, as
 * for a typed address.
 */
function isFromOtherOrigin(headers: IncomingHttpHeaders): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-purpose': purpose } = headers
  if (site === 'same-origin') return false
  // a browser over plain http, an older one, or another client
  if (site === undefined) return 'sec-websocket-version' in headers
  const isTyped = site === 'none' && mode === 'navigate' && purpose === undefined
  return !isTyped
}

/** A token takes precedence. Cookies are signed, so guesses need no rate limit. */
function identifier({ checkToken, sessions }: GuardParts): (request: FastifyRequest) => Caller | ApiResponse {
  return ({ headers, ip: address, protocol }) => {
    const token = bearer(headers.authorization)
    if (token !== undefined) {
      const result = checkToken(token, address)
      return result && 'who' in result ? { ...result, by: 'bearer', address } : (result ?? unknownToken)
    }
    const cookie = isFromOtherOrigin(headers) ? undefined : SESSION_COOKIE.first(headers.cookie, protocol)
    const read = cookie === undefined ? undefined : sessions.read(cookie, Date.now())
    return read ? { ...read, by: 'cookie', address } : unauthorized
  }
}
