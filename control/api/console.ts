import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from './errors.ts'
import { send } from './operation.ts'
import { type FixedResponse, fixedResponse } from './response.ts'

export type ConsoleParts = {
  ingest: IngestAt
  consoleLimits: () => ConsoleLimits
  /** Folder of the built console; defaults to that of this checkout. */
  built?: string
}

/** The settings that the console's texts mention. `...KeptMs`: how long Kafka keeps records; null if forever or unknown. */
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
/** Placeholders in the page, replaced in each response. See console/index.html and console/vite.config.ts. */
const NONCE = '__SLUICE_NONCE__'
const INGEST = '__SLUICE_INGEST__'
const LIMITS = '__SLUICE_LIMITS__'
/** Never a page of the console, even if a browser asks for one. */
const OTHERS = /^\/(api|docs|assets|livez|readyz|metrics)(\/|$)/

/** Serves the console's files, and its page for every other path that a browser requests as a page. */
export function consoleRoutes(
  app: FastifyInstance,
  { ingest, consoleLimits, built = BUILT }: ConsoleParts,
): void {
  const assets = createFiles((name) => ({
    path: `${built}/assets/${name}`,
    headers: {
      ...HARDENED,
      'content-type': TYPES[extname(name)] ?? 'application/octet-stream',
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

  async function page(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const file = await readFile(`${built}/index.html`, 'utf8').catch(() => undefined)
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
          .replaceAll(LIMITS, asAttribute(consoleLimits())),
      )
  }

  app.get('/', page)
  app.get('/licenses', async (request, reply) => {
    const text = await licenses('licenses.md')
    return send(reply, text ? text.plain(request) : notFound)
  })
  app.setNotFoundHandler((request, reply) => (isPage(request) ? page(request, reply) : send(reply, notFound)))
}

type Files = { plain: FixedResponse; gzip?: FixedResponse | undefined; br?: FixedResponse | undefined }

/** Reads each file once, with its compressed forms. @returns a function that returns undefined for a missing one. */
function createFiles(describe: (name: string) => { path: string; headers: Record<string, string> }) {
  const known = new Map<string, Promise<Files | undefined>>()

  async function read(name: string): Promise<Files | undefined> {
    const { path, headers } = describe(name)
    const fixed = async (end: string, encoding?: string) => {
      const bytes = await readFile(path + end).catch(() => undefined)
      return bytes && fixedResponse(bytes, { ...headers, ...(encoding && { 'content-encoding': encoding }) })
    }
    const plain = await fixed('')
    return plain && { plain, gzip: await fixed('.gz', 'gzip'), br: await fixed('.br', 'br') }
  }

  return (name: string): Promise<Files | undefined> => {
    const reading = known.get(name) ?? read(name)
    known.set(name, reading)
    // the file may be built later, and the number of missing names is unlimited
    void reading.then((found) => found ?? known.delete(name))
    return reading
  }
}

/** Browsers send less. */
const ENCODINGS_READ = 256

function inBestEncoding({ plain, gzip, br }: Files, { headers }: FastifyRequest): FixedResponse {
  const names = (headers['accept-encoding']?.toString() ?? '')
    .slice(0, ENCODINGS_READ)
    .toLowerCase()
    .split(',')
  // leaves out encodings that the client refuses (q=0)
  const accepted = names.map((name) => name.replaceAll(' ', '')).filter((name) => !/;q=0(\.0*)?$/.test(name))
  const accepts = (encoding: string) => accepted.some((name) => name.split(';')[0] === encoding)
  return (accepts('br') && br) || (accepts('gzip') && gzip) || plain
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const NOT_BUILT =
  'The console is not built: run "npm run console" in the Sluice folder. The API is at /api, its documentation at /docs.\n'

const isPage = ({ method, url, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (headers.accept?.includes('text/html') ?? false) &&
  !OTHERS.test(url.split('?', 1)[0] ?? url)

/**
 * For a page that runs only its own scripts and sends requests only to its origin and to `asks`.
 * @param nonce of its inline styles.
 */
export const policy = ({ nonce, asks }: { nonce: string; asks: string }): string =>
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
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

export type IngestAt = {
  /** From the settings; without it, ingest is assumed on the host that serves the console. */
  url: string | undefined
  port: number
}

/**
 * Where clients reach ingest: origin and path, without a trailing slash.
 * @param hostname as the browser sent it (`Host` without the port). It ends up in a header, so an invalid
 * name becomes localhost.
 */
export function ingestAddress({ url, port }: IngestAt, hostname: string): string {
  if (url !== undefined) return url.replace(/\/+$/, '')
  const bare = hostname.replace(/^\[|\]$/g, '')
  if (isIPv6(bare)) return `http://[${bare}]:${port}`
  return `http://${/^[\w.-]{1,253}$/.test(bare) ? bare : 'localhost'}:${port}`
}
