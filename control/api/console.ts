import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from './errors.ts'
import { createFiles, inBestEncoding, sharing, typeOf } from './files.ts'
import { refuseEarly, send } from './operation.ts'

export type ConsoleParts = {
  ingest: IngestAt
  /** Undefined without single sign-on. */
  oidc: { consoleUrl: string } | undefined
  consoleLimits: () => ConsoleLimits
  /** Default: `console/dist` in this checkout. */
  built?: string
}

/** For the console's texts. `...KeptMs`: how long Kafka keeps records; null if forever or unknown. */
export type ConsoleLimits = {
  responseTimeoutMs: number
  retryWindowMs: number
  retryDelays: readonly string[]
  eventsKeptMs: number | null
  deadKeptMs: number | null
}

const asAttribute = (value: object) =>
  JSON.stringify(value).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

const BUILT = fileURLToPath(new URL('../../console/dist', import.meta.url))
/** Replaced in each response. See console/index.html and console/vite.config.ts. */
const NONCE = '__SLUICE_NONCE__'
const INGEST = '__SLUICE_INGEST__'
const LIMITS = '__SLUICE_LIMITS__'
const SIGN_ON = '__SLUICE_SINGLE_SIGN_ON__'
/** Never pages of the console. */
const OTHERS = /^\/(api|docs|assets|livez|readyz|metrics)(\/|$)/

/** Also serves the page for other paths that a browser requests as a page. */
export function consoleRoutes(
  app: FastifyInstance,
  { ingest, oidc, consoleLimits, built = BUILT }: ConsoleParts,
): void {
  const assets = createFiles((name) => ({
    path: `${built}/assets/${name}`,
    headers: {
      ...HARDENED,
      'content-type': typeOf(name),
      // file names change with their content
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    },
  }))
  app.get<{ Params: { name: string } }>('/assets/:name', async (request, reply) => {
    const { name } = request.params
    const files = /^[\w-][\w.-]*$/.test(name) ? await assets(name) : undefined
    return send(reply, files ? inBestEncoding(files, request)(request) : notFound)
  })
  const licenses = createFiles((name) => ({
    path: `${built}/${name}`,
    headers: { ...HARDENED, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' },
  }))
  const page = pageOf({ ingest, oidc, consoleLimits, built })
  app.get('/', page)
  app.get('/licenses', async (request, reply) => {
    const text = await licenses('licenses.md')
    return send(reply, text ? text.plain(request) : notFound)
  })
  // before the body is read: parsing 1 MB takes 120 ms. Unknown paths of the API need a token first
  refuseEarly(app, (request) =>
    request.is404 && request.server === app && !isPage(request) ? notFound : undefined,
  )
  app.setNotFoundHandler(page)
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

function pageOf({ ingest, oidc, consoleLimits, built }: Required<ConsoleParts>): Handler {
  const read = sharing(() => readFile(`${built}/index.html`, 'utf8').catch(() => undefined))
  return async (request, reply) => {
    const file = await read()
    if (file === undefined) return reply.code(503).type('text/plain; charset=utf-8').send(NOT_BUILT)
    const nonce = randomBytes(16).toString('base64url')
    const address = ingestAddress(ingest, request.hostname)
    return reply
      .type('text/html; charset=utf-8')
      .headers({
        ...HARDENED,
        'content-security-policy': policy({ nonce, asks: new URL(address).origin }),
        'cache-control': 'no-cache',
      })
      .send(
        file
          .replaceAll(NONCE, nonce)
          .replaceAll(INGEST, address)
          .replaceAll(SIGN_ON, oidc ? `${oidc.consoleUrl}/api/single-sign-on` : '')
          .replaceAll(LIMITS, asAttribute(consoleLimits())),
      )
  }
}

const NOT_BUILT =
  'The console is not built: run "npm run console" in the Sluice folder. The API is at /api, its documentation at /docs/api/.\n'

const isPage = ({ method, url, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (headers.accept?.includes('text/html') ?? false) &&
  !OTHERS.test(url)

/** Allows the page's own scripts, and requests to its origin and `asks`. @param nonce of inline styles. */
const policy = ({ nonce, asks }: { nonce: string; asks: string }): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self' ${asks}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

export const HARDENED = {
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

export type IngestAt = {
  /** Default: the host that serves the console. */
  url: string | undefined
  port: number
}

/**
 * Origin and path, without a trailing slash.
 * @param hostname from the browser's `Host`. It ends up in a header, so an invalid name becomes localhost.
 */
export function ingestAddress({ url, port }: IngestAt, hostname: string): string {
  if (url !== undefined) return url.replace(/\/+$/, '')
  const bare = hostname.replace(/^\[|\]$/g, '')
  const address = `http://${isIPv6(bare) ? `[${bare}]` : bare}:${port}`
  // some names are not valid in a URL, such as 1.2.3.999
  const isSafe = /^[\w.:-]{1,253}$/.test(bare) && URL.canParse(address)
  return isSafe ? address : `http://localhost:${port}`
}
