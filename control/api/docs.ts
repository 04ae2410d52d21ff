import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HARDENED } from './console.ts'
import { notFound } from './errors.ts'
import { createFiles, inBestEncoding, typeOf } from './files.ts'
import { send } from './operation.ts'

export type DocsParts = {
  /** Default: `site/dist` in this checkout. */
  builtDocs?: string
}

const BUILT = fileURLToPath(new URL('../../site/dist', import.meta.url))

/** Refuses inline scripts and styles, even with a nonce. */
export const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** No part is empty or starts with a dot. So each file has one name, inside the folder. */
const NAME = /^(?:\w[\w.-]*\/)*[\w@][\w.-]*$/

/** Built by `npm run site`. Needs no token. */
export function docsRoutes(app: FastifyInstance, { builtDocs = BUILT }: DocsParts): void {
  const files = createFiles((name) => ({
    path: `${builtDocs}/${name}`,
    headers: {
      ...HARDENED,
      'content-type': typeOf(name),
      'content-security-policy': DOCS_POLICY,
      // names of assets change with their content
      'cache-control': name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
    },
  }))

  async function missing(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (!request.headers.accept?.includes('text/html')) return send(reply, notFound)
    const page = await files('404.html')
    if (page) return send(reply, { ...page.plain({ headers: {} }), status: 404 })
    const isBuilt = (await files('index.html')) !== undefined
    return isBuilt
      ? send(reply, notFound)
      : reply.code(503).type('text/html; charset=utf-8').headers(PLAIN).send(NOT_BUILT)
  }

  app.get('/docs', async (_, reply) => reply.redirect('/docs/'))
  app.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) => {
    const path = request.params['*']
    const name = path === '' || path.endsWith('/') ? `${path}index.html` : path
    const found = NAME.test(name) ? await files(name) : undefined
    return found ? send(reply, inBestEncoding(found, request)(request)) : missing(request, reply)
  })
}

const PLAIN = { ...HARDENED, 'content-security-policy': DOCS_POLICY, 'cache-control': 'no-cache' }

const NOT_BUILT = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Sluice documentation</title>
    <link rel="icon" href="data:," />
  </head>
  <body>
    <h1>The documentation is not built</h1>
    <p>Run <code>npm run site</code> in the Sluice folder, then reload this page. Until then, read the folder <code>docs</code>.</p>
    <p><a href="/docs/api/">Read about the API, and try it</a></p>
  </body>
</html>
`
