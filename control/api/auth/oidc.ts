import type { ClientAuth, Configuration, CustomFetch } from 'openid-client'
import type { Claim } from '../../../config-values.ts'

export type OidcSettings = {
  issuer: string
  clientId: string
  clientSecret: string
  /** Space-separated. Some providers send claims such as `groups` only for their scope. */
  scope: string
  /** The origin at which browsers reach the console. */
  consoleUrl: string
  /** Who may sign in, by claims. A person in both is an admin. */
  admins: readonly Claim[]
  viewers: readonly Claim[]
}

/** Of a verified ID token and of UserInfo. */
export type Claims = Readonly<Record<string, unknown>> & { sub: string }

/** Secrets of one sign-in, which the browser keeps until it returns. */
export type Flow = { state: string; nonce: string; verifier: string }

export type Provider = {
  begin(): Promise<Flow & { address: string }>
  /**
   * @param query of the request with which the browser returned.
   * @returns undefined if the provider says that the person did not sign in.
   * @throws if the provider does not answer, reports another error, or its answer is not valid.
   */
  finish(query: Readonly<Record<string, string>>, flow: Flow): Promise<Claims | undefined>
}

export const CALLBACK = '/api/single-sign-on/callback'

/** How long a request may take, and how far the provider's clock may differ from ours. */
const [TIMEOUT_S, CLOCK_TOLERANCE_S] = [10, 60]
const MAX_BYTES = 1024 ** 2
/** How long the provider's metadata is reused. It may change its addresses and keys. */
const DISCOVERY_MS = 60 * 60_000

/** Only at the first sign-in. */
const load = () => import('openid-client')

/** OpenID Connect: authorization code flow with PKCE (RFC 7636). Sends no request before the first sign-in. */
export function createProvider(settings: OidcSettings): Provider {
  let found: { at: number; configuration: Promise<Configuration> } | undefined

  /** Concurrent sign-ins share one request. */
  function discovered(): Promise<Configuration> {
    if (found && performance.now() - found.at < DISCOVERY_MS) return found.configuration
    const current = { at: performance.now(), configuration: discover(settings) }
    found = current
    current.configuration.catch(() => {
      if (found === current) found = undefined
    })
    return current.configuration
  }

  return {
    async begin() {
      const client = await load()
      const flow = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      }
      const address = client.buildAuthorizationUrl(await discovered(), {
        redirect_uri: settings.consoleUrl + CALLBACK,
        scope: settings.scope,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
      })
      return { ...flow, address: address.href }
    },
    async finish(query, { state, nonce, verifier }) {
      const client = await load()
      const configuration = await discovered()
      const returned = new URL(settings.consoleUrl + CALLBACK)
      returned.search = new URLSearchParams(query).toString()
      try {
        const tokens = await client.authorizationCodeGrant(configuration, returned, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (!claims || configuration.serverMetadata().userinfo_endpoint === undefined) return claims
        // otherwise, the error would quote it (RFC 6749, A.12)
        if (!/^[ -~]+$/.test(tokens.access_token)) throw new Error('the access token is not valid')
        // with a code flow, providers may leave email and groups out of the ID token (OpenID Connect Core 1.0, 5.4)
        return merged(claims, await client.fetchUserInfo(configuration, tokens.access_token, claims.sub))
      } catch (error) {
        if (error instanceof client.AuthorizationResponseError && error.error === 'access_denied')
          return undefined
        throw error
      }
    },
  }
}

async function discover({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const client = await load()
  const [post, basic] = [client.ClientSecretPost(clientSecret), client.ClientSecretBasic(clientSecret)]
  // without the list, a provider supports only basic authentication (OpenID Connect Discovery 1.0, 3)
  const authenticate: ClientAuth = (server, ...request) =>
    (server.token_endpoint_auth_methods_supported?.includes('client_secret_post') ? post : basic)(
      server,
      ...request,
    )
  const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE_S }
  const configuration = await client.discovery(new URL(issuer), clientId, metadata, authenticate, {
    timeout: TIMEOUT_S,
    [client.customFetch]: fetchLimited,
    execute: [
      // checks signatures even of ID tokens received over TLS
      client.enableNonRepudiationChecks,
      ...(new URL(issuer).protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  })
  const found = configuration.serverMetadata().issuer
  // the library lets Microsoft's shared addresses stand for every tenant, whose admins can grant any role
  if (URL.parse(found)?.href !== new URL(issuer).href)
    throw new Error(`OIDC_ISSUER must be the issuer of the provider's metadata: ${found.slice(0, MAX_NAME)}`)
  return configuration
}

/** The library reads a response as a whole. */
const fetchLimited: CustomFetch = async (url, options) => {
  const { status, headers, body } = await fetch(url, { ...options, body: options.body ?? null })
  let size = 0
  const limit = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      size += chunk.length
      if (size > MAX_BYTES) controller.error(new Error('the response of the provider is larger than 1 MB'))
      else controller.enqueue(chunk)
    },
  })
  return new Response(body?.pipeThrough(limit) ?? null, { status, headers })
}

/** The claims win. An email address and its `email_verified` come from the same source. */
function merged(claims: Claims, userInfo: Readonly<Record<string, unknown>>): Claims {
  const { email, email_verified } = [claims, userInfo].find(emailOf) ?? {}
  return { ...userInfo, ...claims, email, email_verified }
}

/** @returns undefined for people who may not sign in. */
export function roleOf(
  claims: Claims,
  { admins, viewers }: Pick<OidcSettings, 'admins' | 'viewers'>,
): 'admin' | 'view' | undefined {
  if (admins.some((claim) => has(claims, claim))) return 'admin'
  return viewers.some((claim) => has(claims, claim)) ? 'view' : undefined
}

/** A claim may have one value or a list. */
function has(claims: Claims, { name, value }: Claim): boolean {
  if (name === 'email') {
    const email = emailOf(claims)
    const listed = lowerCase(value)
    return listed.startsWith('@') ? email?.endsWith(listed) === true : email === listed
  }
  const held = [claims[name]].flat()
  return held.some((each) => typeof each !== 'object' && each !== undefined && String(each) === value)
}

/** Only if the provider has verified it: otherwise, people might enter any address. */
function emailOf({ email, email_verified: verified }: Readonly<Record<string, unknown>>): string | undefined {
  // some providers send a string
  const isVerified = verified === true || verified === 'true'
  return isVerified && typeof email === 'string' ? lowerCase(email) : undefined
}

/** Of ASCII only: `toLowerCase` also turns the Kelvin sign into a k, so two addresses would become one. */
const lowerCase = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

const MAX_NAME = 200

/** The name in the audit log: the provider's id if no readable name is known. */
export function nameOf(claims: Claims): string {
  const names = [emailOf(claims), claims.preferred_username]
  return names.find(isReadable) ?? encodeURIComponent(claims.sub.toWellFormed()).slice(0, MAX_NAME)
}

/** Without spaces, control characters and marks that change the direction of text. */
const isReadable = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && name.length <= MAX_NAME && !/[\p{C}\p{Z}]/u.test(name)
