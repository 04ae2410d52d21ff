import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { notFound } from '../http/errors.ts'
import { send } from '../http/serve.ts'
import { type IngestAt, ingestAddress } from './ingest-address.ts'
import { HARDENED, policy } from './policy.ts'

export type ConsoleParts = {
  ingest: IngestAt
  /** Where the built console is, unless told the one of this checkout. */
  built?: string
}

const BUILT = fileURLToPath(new URL('../../console/dist', import.meta.url))
/** In the page, where each answer has values of its own. console/index.html, console/vite.config.ts. */
const NONCE = '__SLUICE_NONCE__'
const INGEST = '__SLUICE_INGEST__'
/** Never the console's, though a browser asks for them as for a page. */
const OTHERS = /^\/(api|docs|assets|livez|readyz|metrics)(\/|$)/

/** The console's files, and its page wherever it has a view: all that a browser wants as a page, and nobody else has. */
export function consoleRoutes(app: FastifyInstance, { ingest, built = BUILT }: ConsoleParts): void {
  // their names change with their content
  app.register(fastifyStatic, {
    root: `${built}/assets`,
    prefix: '/assets/',
    immutable: true,
    maxAge: '365d',
    preCompressed: true,
    index: false,
    suppressWarning: true,
    setHeaders: (reply) => {
      reply.headers(HARDENED)
    },
  })

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
      .send(file.replaceAll(NONCE, nonce).replaceAll(INGEST, address))
  }

  app.get('/', page)
  app.get('/licenses', async (_, reply) => {
    const text = await readFile(`${built}/licenses.md`, 'utf8').catch(() => undefined)
    if (text === undefined) return send(reply, notFound)
    return reply
      .type('text/plain; charset=utf-8')
      .headers({ ...HARDENED, 'cache-control': 'no-cache' })
      .send(text)
  })
  app.setNotFoundHandler((request, reply) => (isPage(request) ? page(request, reply) : send(reply, notFound)))
}

const NOT_BUILT =
  'The console has not been built: run "npm run console" in the folder of Sluice. The API is at /api, and described at /docs.\n'

const isPage = ({ method, url, headers }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (headers.accept?.includes('text/html') ?? false) &&
  !OTHERS.test(new URL(url, 'http://console').pathname)
