import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import { keepUnused } from '../http/connections.ts'
import { connectionsWithin } from '../http/open-files.ts'
import { answerOps, type Probe } from '../http/probes.ts'
import { dropForwardedPorts, isAmbiguous, withoutHost } from '../http/requests.ts'
import type { Producer } from '../kafka/produce/produce.ts'
import { audiences, traits } from '../settings/resources/audiences-and-traits.ts'
import { destinations } from '../settings/resources/destinations.ts'
import { sources } from '../settings/resources/sources.ts'
import { suppressions } from '../settings/resources/suppressions.ts'
import { searchRefusal } from './activity/records/following.ts'
import { type ActivityParts, activityRoutes } from './activity/routes.ts'
import { withAuditTopic } from './api/audit.ts'
import { guard } from './api/auth/guard.ts'
import { sessionRoutes } from './api/auth/session-routes.ts'
import { createSessions, type EndedSessions } from './api/auth/sessions.ts'
import { type SingleSignOnParts, singleSignOnRoutes } from './api/auth/single-sign-on.ts'
import { createTokenCheck, logWrongTokens, type TokenLimits, type Tokens } from './api/auth/tokens.ts'
import { workspaceTokenRoutes } from './api/auth/workspace-tokens.ts'
import { type ConsoleParts, consoleRoutes } from './api/console.ts'
import { type DocsParts, docsRoutes } from './api/docs.ts'
import {
  acceptOnlyJson,
  createErrorHandler,
  invalidPath,
  notFound,
  respondToBrokenRequest,
} from './api/errors.ts'
import type { RoutedOperation } from './api/openapi/document.ts'
import { collectOperations, explorerRoutes, openapiRoute } from './api/openapi/routes.ts'
import { refuseEarly, send } from './api/operation.ts'
import { problem } from './api/response.ts'
import { limitServer, SERVER_LIMITS, type ServerLimits, serverOptions } from './api/server-limits.ts'
import { type BackupRouteParts, backupRoutes } from './backup/routes.ts'
import { type RouteParts, resourceRoutes } from './settings/routes.ts'
import { type TestSendParts, testSendRoute } from './settings/test-send.ts'
import { type ComputationRouteParts, computationRoutes } from './tasks/audiences/routes.ts'
import { storedUsersRemover } from './tasks/audiences/sync.ts'
import { type DeletionRouteParts, deletionRoutes } from './tasks/deletions/routes.ts'
import { type UserRouteParts, userRoutes } from './tasks/deletions/users.ts'
import { type ReplayRouteParts, replayRoutes } from './tasks/replays/routes.ts'

export type AppParts = RouteParts &
  ActivityParts &
  ComputationRouteParts &
  ReplayRouteParts &
  DeletionRouteParts &
  UserRouteParts &
  TestSendParts &
  ConsoleParts &
  BackupRouteParts &
  DocsParts & {
    auditProducer: Pick<Producer, 'produce'>
    tokens: Tokens
    oidc: SingleSignOnParts['oidc']
    tokenLimits: TokenLimits
    endedSessions: Pick<EndedSessions, 'has'>
    /** CIDRs of proxies whose headers are trusted. */
    trustProxy: readonly string[]
    limits?: ServerLimits
    /** The API refuses requests until it is ready. */
    probe: Probe
  }

const ambiguous = problem({
  code: 'bad_request',
  message:
    'Send exactly one Host header, at most one Authorization header, and no Transfer-Encoding other than chunked ' +
    '(none with HTTP/1.0)',
})

const BODY_LIMIT = 1024 * 1024

export function createApp(given: AppParts): FastifyInstance {
  // the topic lacks a line, so the same search gets one again
  const onLost = () => given.tokenLimits.forgetSearches()
  const parts = { ...given, log: withAuditTopic(given.log, given.auditProducer, onLost) }
  const handleError = createErrorHandler(parts.log)
  const connections = connectionsWithin(SERVER_LIMITS.connections)
  const limits = parts.limits ?? { ...SERVER_LIMITS, connections }
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    ...serverOptions(limits),
    trustProxy: [...parts.trustProxy],
    // we respond in our own format, then close the connection
    return503OnClosing: false,
    rewriteUrl({ url = '/' }) {
      // Fastify would read each query, with no limits, and keep it until the answer. Operations read theirs
      const [path = ''] = withoutHost(url).split(/[?#]/, 1)
      return isReadable(path) ? path : UNREADABLE
    },
    routerOptions: { maxParamLength: LONGEST_URL },
    clientErrorHandler: keepUnused(respondToBrokenRequest, limits.keepAliveMs),
  })
  // not async: the limits count requests as they come in
  app.addHook('onRequest', ({ raw }, reply, done) => {
    reply.header('x-content-type-options', 'nosniff')
    dropForwardedPorts(raw)
    dropTypeParameters(raw)
    done()
  })
  limitServer(app, limits, parts.trustProxy)
  rejectAmbiguous(app)
  refuseUnreadable(app)
  const operations = collectOperations(app)
  app.setErrorHandler(handleError)
  acceptOnlyJson(app)
  closeConnectionsAtShutdown(app)
  dropSilentAtShutdown(app)
  for (const url of ['/livez', '/readyz', '/metrics'])
    app.get(url, async (_, reply) => {
      const { status, type, body } = await answerOps(url, parts.probe)
      // as a text, which counts toward the limit of unread answers
      return reply.code(status).type(type).send(String(body))
    })
  explorerRoutes(app)
  docsRoutes(app, parts)
  consoleRoutes(app, parts)
  app.register(async (api) => apiRoutes(api, parts, operations), { prefix: '/api' })
  return app
}

function apiRoutes(api: FastifyInstance, parts: AppParts, operations: readonly RoutedOperation[]): void {
  const sessions = createSessions(parts.keys.sessions ?? [], parts.tokens, parts.endedSessions.has)
  const checkToken = createTokenCheck(parts.tokens, parts.tokenLimits, {
    sessions,
    onWrong: logWrongTokens(parts.log),
  })
  guard(api, { ...parts, checkToken, sessions })
  // unknown paths need a token too
  api.setNotFoundHandler((_, reply) => send(reply, notFound))
  resourceRoutes(api, sources, parts)
  resourceRoutes(api, destinations, parts)
  // an id is a hash of its user, so to ask for one is a search
  resourceRoutes(api, suppressions, { ...parts, showRefusal: (caller) => searchRefusal(caller, parts) })
  resourceRoutes(api, audiences, { ...parts, onRemoved: storedUsersRemover('audience', parts) })
  resourceRoutes(api, traits, { ...parts, onRemoved: storedUsersRemover('trait', parts) })
  computationRoutes(api, parts)
  testSendRoute(api, parts)
  deletionRoutes(api, parts)
  userRoutes(api, parts)
  replayRoutes(api, parts)
  backupRoutes(api, parts)
  activityRoutes(api, parts)
  sessionRoutes(api, { ...parts, checkToken, sessions })
  singleSignOnRoutes(api, { ...parts, sessions })
  workspaceTokenRoutes(api, { ...parts, sessions })
  openapiRoute(api, operations)
}

/** Fastify runs no hooks, and so no limits, for paths that the router cannot decode or finds too long. */
const UNREADABLE = '/unreadable-path'
/** As Node's limit of the headers. */
const LONGEST_URL = 16 * 1024

/** Before the body is read: without `done`, the handler never runs. */
function refuseUnreadable(app: FastifyInstance): void {
  app.all(
    UNREADABLE,
    { onRequest: (_request, reply, _done) => void send(reply, invalidPath) },
    () => invalidPath.body,
  )
}

function isReadable(path: string): boolean {
  try {
    decodeURI(path)
    return true
  } catch {
    return false
  }
}

const TYPE_CHARS = 100

/**
 * Fastify reads all parameters of a Content-Type and keeps them until the response, also of a sign-in: 3,180 took 1.6 ms
 * and 240 KB. Ours need none.
 */
function dropTypeParameters({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const type = headers['content-type']
  if (type && type.length > TYPE_CHARS) headers['content-type'] = type.split(';', 1)[0]
}

function rejectAmbiguous(app: FastifyInstance): void {
  refuseEarly(app, ({ raw }, reply) => {
    if (!isAmbiguous(raw)) return undefined
    reply.header('connection', 'close')
    return ambiguous
  })
}

/** A response during shutdown would keep its connection open. */
function closeConnectionsAtShutdown(app: FastifyInstance): void {
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })
  app.addHook('onSend', async (_, reply) => {
    if (closing) reply.header('connection', 'close')
  })
}

const SOON_MS = 500

/**
 * Browsers and client libraries open connections in advance. Node does not count these as idle, and would wait for them
 * forever.
 */
export function dropSilentAtShutdown(app: FastifyInstance): void {
  const connected = new Set<Socket>()
  let closing = false

  function dropSilent(): void {
    for (const socket of connected) if (socket.bytesRead === 0) socket.destroy()
  }

  app.server.on('connection', (socket) => {
    connected.add(socket)
    socket.once('close', () => connected.delete(socket))
    if (closing) setTimeout(dropSilent, SOON_MS).unref()
  })
  app.addHook('preClose', async () => {
    closing = true
    dropSilent()
  })
}
