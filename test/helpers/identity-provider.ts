import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** Everyone is signed in there, as `claims`. */
export type IdentityProvider = {
  issuer: string
  /** Of ID tokens, beside the usual ones. */
  claims: Record<string, unknown>
  /** How clients authenticated with the token endpoint. */
  authentications: string[]
  /** Requests to the provider. */
  paths: string[]
  /** Parts of a token's header and claims that are not as they must be. */
  wrong: { header?: object; claims?: object; key?: 'unknown'; discovery?: object }
  /** What UserInfo says beside the `sub` of `claims`. Undefined: there is no UserInfo. */
  userInfo?: Record<string, unknown>
  accessToken: string
  isAway: boolean
  /** @param address to which Sluice sent the browser. @returns where the provider sends it. */
  visit(address: string): Promise<string>
}

export const CLIENT = { clientId: 'sluice', clientSecret: 'client-secret-0123456789' }

type Granted = { nonce: string | null; challenge: string | null }

/** OpenID Connect over http, until the test ends. */
export async function identityProvider(methods?: string[]): Promise<IdentityProvider> {
  const [known, unknown] = [generateKeyPairSync('ec', EC), generateKeyPairSync('ec', EC)]
  const codes = new Map<string, Granted>()
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', provider.issuer)
    provider.paths.push(pathname)
    const json = (body: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (provider.isAway) return request.socket.destroy()
    switch (pathname) {
      case '/.well-known/openid-configuration':
        return json({
          ...discovery(provider.issuer, methods),
          ...(provider.userInfo && { userinfo_endpoint: `${provider.issuer}/userinfo` }),
          ...provider.wrong.discovery,
        })
      case '/userinfo':
        return request.headers.authorization === `Bearer ${provider.accessToken}`
          ? json({ sub: provider.claims.sub, ...provider.userInfo })
          : json({}, 401)
      case '/jwks':
        return json({
          keys: [{ ...known.publicKey.export({ format: 'jwk' }), kid: '1', alg: 'ES256', use: 'sig' }],
        })
      case '/authorize': {
        const code = randomBytes(12).toString('base64url')
        codes.set(code, { nonce: searchParams.get('nonce'), challenge: searchParams.get('code_challenge') })
        const back = new URL(searchParams.get('redirect_uri') ?? '')
        back.search = new URLSearchParams({ code, state: searchParams.get('state') ?? '' }).toString()
        return response.writeHead(302, { location: back.href }).end()
      }
      case '/token': {
        const form = new URLSearchParams(await text(request))
        const code = form.get('code') ?? ''
        const granted = codes.get(code)
        codes.delete(code)
        const isAuthentic = authenticated(request.headers.authorization, form, provider)
        if (!isAuthentic) {
          if (request.headers.authorization) response.setHeader('www-authenticate', 'Basic realm="id"')
          return json({ error: 'invalid_client' }, 401)
        }
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url')
        if (granted?.challenge !== challenge) return json({ error: 'invalid_grant' }, 400)
        const key = provider.wrong.key === 'unknown' ? unknown.privateKey : known.privateKey
        return json({
          access_token: provider.accessToken,
          token_type: 'Bearer',
          id_token: signed(
            { alg: 'ES256', kid: '1', ...provider.wrong.header },
            { ...standard(provider.issuer, granted.nonce), ...provider.claims, ...provider.wrong.claims },
            key,
          ),
        })
      }
      default:
        return json({}, 404)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const provider: IdentityProvider = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    claims: { sub: 'id-of-ann', email: 'ann@example.com', email_verified: true },
    authentications: [],
    paths: [],
    wrong: {},
    accessToken: ACCESS_TOKEN,
    isAway: false,
    async visit(address) {
      const { headers } = await fetch(address, { redirect: 'manual' })
      return headers.get('location') ?? ''
    },
  }
  return provider
}

const EC = { namedCurve: 'P-256' } as const
export const ACCESS_TOKEN = 'access-token-0123456789'

const discovery = (issuer: string, methods?: string[]) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
  ...(methods && { token_endpoint_auth_methods_supported: methods }),
})

const standard = (issuer: string, nonce: string | null) => {
  const now = Math.floor(Date.now() / 1000)
  return { iss: issuer, aud: CLIENT.clientId, iat: now, exp: now + 300, nonce }
}

function authenticated(
  header: string | undefined,
  form: URLSearchParams,
  { authentications }: Pick<IdentityProvider, 'authentications'>,
): boolean {
  const basic = header && Buffer.from(header.replace('Basic ', ''), 'base64').toString()
  // both are encoded as in a form (RFC 6749, 2.3.1)
  const given = basic?.split(':').map(decodeURIComponent)
  const [id, secret] = given ?? [form.get('client_id'), form.get('client_secret')]
  authentications.push(basic ? 'client_secret_basic' : 'client_secret_post')
  return id === CLIENT.clientId && secret === CLIENT.clientSecret
}

function signed(header: object, claims: object, key: Parameters<typeof sign>[2] & object): string {
  const parts = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  const content = parts.join('.')
  const signature = sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' } as never)
  return `${content}.${signature.toString('base64url')}`
}
