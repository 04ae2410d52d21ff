import { createHash } from 'node:crypto'
import { z } from 'zod'
import {
  brokers,
  bytes,
  cidrs,
  durationMs,
  flag,
  hasReadableCredentials,
  issuerUrl,
  keys,
  ladder,
  oneOf,
  origin,
  people,
  port,
  ports,
  privateCidrs,
  proxies,
  scopes,
  token,
  whole,
} from './config-values.ts'
import type { KafkaConfig } from './kafka/client.ts'
import { ConfigError } from './process/config-error.ts'
import { DELIVERIES_RETENTION, OUTAGE_MS } from './schemas/topics.ts'
import { keysFor, type Role } from './settings/config-key.ts'
import { readTraces, TRACE_SETTINGS, type TraceSettings } from './trace/settings.ts'

/** Names and defaults: docs/reference/settings.md. */

const environment = z.object({
  /** host:port, comma-separated. */
  KAFKA_BROKERS: brokers,
  KAFKA_SSL: flag.default(false),
  /** PEM file of roots for brokers, instead of Node's own. */
  KAFKA_SSL_CA: z.string().optional(),
  /** PEM files: Sluice's certificate for brokers, and its key without passphrase. */
  KAFKA_SSL_CERT: z.string().optional(),
  KAFKA_SSL_KEY: z.string().optional(),
  KAFKA_SASL_MECHANISM: oneOf(['plain', 'scram-sha-256', 'scram-sha-512']).optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  /** Confluent-compatible; user and password are sent as basic auth. */
  SCHEMA_REGISTRY_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
    .refine(
      hasReadableCredentials,
      'its user and password must be percent-encoded: write %25 for a % in them',
    ),
  /** As KAFKA_SSL_CA, for the registry. */
  SCHEMA_REGISTRY_CA: z.string().optional(),
  /** The prefix of every topic and group. */
  TOPIC_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{0,100}$/, 'only letters, digits, dot, dash, underscore')
    .default(''),
  PARTITIONS: whole(1, 10_000).default(12),
  REPLICATION: whole(1, 10).default(1),
  /** What Sluice's topics may take on a broker's disk. */
  STORAGE_LIMIT: bytes.optional(),
  /** With less free space on a broker's disk, calls are refused and retries wait. Default: a tenth, at most 2 GB. */
  STORAGE_RESERVE: bytes.optional(),
  // for `localhost`, Fastify opens a second server on ::1, to which no limit on connections applies
  HOST: z
    .string()
    .default('0.0.0.0')
    .transform((host) => (host === 'localhost' ? '127.0.0.1' : host)),
  INGEST_PORT: port.default(8080),
  CONTROL_PORT: port.default(8081),
  ROUTER_PORT: port.default(8082),
  DELIVERER_PORT: port.default(8083),
  /** Ports for operators; the other processes have only this kind. */
  INGEST_METRICS_PORT: port.default(8084),
  CONTROL_METRICS_PORT: port.default(8086),
  /** Ingest's address for the console; by default on its host. */
  INGEST_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
    .optional(),
  /** One with all rights, one read-only. */
  CONTROL_TOKEN: token.optional(),
  CONTROL_VIEW_TOKEN: token.optional(),
  /** Single sign-on with OpenID Connect. The provider sends browsers back to CONSOLE_URL. */
  OIDC_ISSUER: issuerUrl.optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_SCOPE: scopes.default('openid email profile'),
  CONSOLE_URL: origin.optional(),
  /** Who may do everything, and who may only read: email addresses, @domains and claims (name=value). */
  OIDC_ADMINS: people.default([]),
  OIDC_VIEWERS: people.default([]),
  /** The first encrypts secrets and signs settings; all decrypt and verify. */
  CONFIG_KEY: keys,
  /** `accept` only during an upgrade from unsigned settings, which anyone who can write to the topic can make. */
  UNSIGNED_SETTINGS: oneOf(['accept', 'refuse']).default('refuse'),
  /** Load balancers whose `X-Forwarded-For` has the client's address. */
  TRUST_PROXY: proxies.default([]),
  /** Private addresses that webhooks may reach. */
  EGRESS_ALLOW: privateCidrs.default([]),
  /** Public addresses that webhooks may not reach. Wins over EGRESS_ALLOW. */
  EGRESS_DENY: cidrs.default([]),
  EGRESS_PORTS: ports.optional(),
  /** PEM file of further trusted roots. */
  EGRESS_CA: z.string().optional(),
  RETRY_LADDER: ladder.prefault('5s,30s,2m,5m,15m,30m,60m,60m,60m'),
  RETRY_WINDOW: durationMs.prefault('4h'),
  RESPONSE_TIMEOUT: durationMs
    .refine((ms) => ms > 0, 'must be above 0')
    .refine((ms) => ms <= 60_000, 'must be at most 1m: a POST that waits for its response occupies a slot')
    .prefault('5s'),
  DEDUP_WINDOW: durationMs.prefault('1h'),
  /** How long a new state of a webhook must last before a notice is sent. */
  NOTICE_DELAY: durationMs.prefault('1m'),
  /** Concurrent POSTs per lane and process. As many more may be late (deliverer/lane/slots.ts). */
  DELIVERY_SLOTS: whole(1, 65_536).default(512),
  /** Idle connections to webhooks that a process keeps open. */
  DELIVERY_IDLE_CONNECTIONS: whole(0, 65_536).default(2_048),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
})

export const SETTINGS: readonly string[] = [...Object.keys(environment.shape), ...TRACE_SETTINGS]

export type Config = ReturnType<typeof tree>

const portNames = {
  ingest: 'INGEST_PORT',
  control: 'CONTROL_PORT',
  router: 'ROUTER_PORT',
  deliverer: 'DELIVERER_PORT',
} as const

function tree(env: z.infer<typeof environment>, role: Role, traces: TraceSettings | undefined) {
  const { username, password } = new URL(env.SCHEMA_REGISTRY_URL)
  return {
    role,
    logLevel: env.LOG_LEVEL,
    host: env.HOST,
    port: env[portNames[role]],
    metricsPort: role === 'control' ? env.CONTROL_METRICS_PORT : env.INGEST_METRICS_PORT,
    ingest: { url: env.INGEST_URL, port: env.INGEST_PORT },
    trustProxy: env.TRUST_PROXY,
    kafka: {
      brokers: env.KAFKA_BROKERS,
      ssl: tls(env),
      sasl: env.KAFKA_SASL_MECHANISM && {
        mechanism: env.KAFKA_SASL_MECHANISM,
        username: env.KAFKA_SASL_USERNAME ?? '',
        password: env.KAFKA_SASL_PASSWORD ?? '',
      },
      topicPrefix: env.TOPIC_PREFIX,
      partitions: env.PARTITIONS,
      replication: env.REPLICATION,
    },
    storage: { limit: env.STORAGE_LIMIT, reserve: env.STORAGE_RESERVE },
    registry: {
      url: withoutCredentials(env.SCHEMA_REGISTRY_URL),
      auth: username
        ? { username: decodeURIComponent(username), password: decodeURIComponent(password) }
        : undefined,
      caFile: env.SCHEMA_REGISTRY_CA,
    },
    configKeys: keysFor(role, env.CONFIG_KEY, env.UNSIGNED_SETTINGS === 'accept'),
    ...signIn(env, role),
    dedupWindowMs: env.DEDUP_WINDOW,
    noticeDelayMs: env.NOTICE_DELAY,
    egress: {
      allow: env.EGRESS_ALLOW,
      deny: env.EGRESS_DENY,
      ports: env.EGRESS_PORTS,
      caFile: env.EGRESS_CA,
    },
    delivery: {
      ladder: env.RETRY_LADDER,
      windowMs: env.RETRY_WINDOW,
      responseTimeoutMs: env.RESPONSE_TIMEOUT,
      slots: env.DELIVERY_SLOTS,
      idleConnections: env.DELIVERY_IDLE_CONNECTIONS,
    },
    traces,
  }
}

function signIn(env: z.infer<typeof environment>, role: Role) {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env
  const { OIDC_SCOPE: scope, OIDC_ADMINS: admins, OIDC_VIEWERS: viewers, CONSOLE_URL: consoleUrl } = env
  const tokens = { admin: env.CONTROL_TOKEN ?? '', view: env.CONTROL_VIEW_TOKEN }
  if (role !== 'control' || !issuer || !clientId || !clientSecret || !consoleUrl)
    return { tokens, oidc: undefined }
  const settings = JSON.stringify([issuer, clientId, consoleUrl, admins, viewers])
  const singleSignOn = createHash('sha256').update(settings).digest('base64url')
  return {
    tokens: { ...tokens, singleSignOn },
    oidc: { issuer, clientId, clientSecret, scope, consoleUrl, admins, viewers },
  }
}

function tls(env: z.infer<typeof environment>): KafkaConfig['ssl'] {
  const { KAFKA_SSL_CA: caFile, KAFKA_SSL_CERT: certFile, KAFKA_SSL_KEY: keyFile } = env
  return env.KAFKA_SSL && (caFile || certFile ? { caFile, certFile, keyFile } : true)
}

function withoutCredentials(text: string): string {
  const url = new URL(text)
  url.username = ''
  url.password = ''
  return url.href.replace(/\/$/, '')
}

/**
 * An empty variable counts as not set.
 * @throws ConfigError with every invalid setting; if there is none, with every conflict between settings
 */
export function readConfig(env: Record<string, string | undefined>, role: Role): Config {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  )
  const parsed = environment.safeParse(given)
  const traces = readTraces(given, role)
  const faults = parsed.success
    ? [...rules(parsed.data), ...(role === 'control' ? signOnFaults(parsed.data) : [])]
    : parsed.error.issues.map((issue) => describe(issue, given))
  if (role === 'control' && !given.CONTROL_TOKEN) faults.push('CONTROL_TOKEN: not set')
  for (const key of parsed.data?.CONFIG_KEY ?? [])
    if ('role' in key && key.role !== role)
      faults.push(`CONFIG_KEY: this key is derived for ${key.role}, but the process is ${role}`)
  faults.push(...traces.issues.map((issue) => describe(issue, given)))
  if (faults.length > 0 || !parsed.success) throw new ConfigError(faults)
  return tree(parsed.data, role, traces.settings)
}

function describe(issue: z.core.$ZodIssue, given: Record<string, unknown>): string {
  const name = String(issue.path[0])
  return given[name] === undefined ? `${name}: not set` : `${name}: ${issue.message}`
}

/** In hours, because `durationMs` does not take days. */
const hours = (span: number) => `${span / 3_600_000}h`

function rules(env: z.infer<typeof environment>): string[] {
  const faults: string[] = []
  if (env.CONTROL_TOKEN && env.CONTROL_TOKEN === env.CONTROL_VIEW_TOKEN)
    faults.push('CONTROL_VIEW_TOKEN: is the same as CONTROL_TOKEN, so it would not be read-only')
  if (env.KAFKA_SASL_MECHANISM && !(env.KAFKA_SASL_USERNAME && env.KAFKA_SASL_PASSWORD))
    faults.push('KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD: KAFKA_SASL_MECHANISM needs both')
  for (const name of ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'] as const)
    if (env[name] && !env.KAFKA_SASL_MECHANISM)
      faults.push(`${name}: has no effect without KAFKA_SASL_MECHANISM`)
  for (const name of ['KAFKA_SSL_CA', 'KAFKA_SSL_CERT', 'KAFKA_SSL_KEY'] as const)
    if (env[name] && !env.KAFKA_SSL) faults.push(`${name}: has no effect without KAFKA_SSL=true`)
  if (!env.KAFKA_SSL_CERT !== !env.KAFKA_SSL_KEY)
    faults.push('KAFKA_SSL_CERT, KAFKA_SSL_KEY: set both or neither')
  if (env.SCHEMA_REGISTRY_CA && !env.SCHEMA_REGISTRY_URL.startsWith('https:'))
    faults.push('SCHEMA_REGISTRY_CA: has no effect, because SCHEMA_REGISTRY_URL is not https://')
  if (env.RETRY_WINDOW + OUTAGE_MS > DELIVERIES_RETENTION)
    faults.push(
      `RETRY_WINDOW: at most ${hours(DELIVERIES_RETENTION - OUTAGE_MS)}: deliveries are kept for ${hours(DELIVERIES_RETENTION)}, which leaves ${hours(OUTAGE_MS)} for an outage`,
    )
  return faults
}

const SIGN_ON = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'CONSOLE_URL'] as const

function signOnFaults(env: z.infer<typeof environment>): string[] {
  const { OIDC_ISSUER: issuer, OIDC_ADMINS: admins, OIDC_VIEWERS: viewers } = env
  if (!issuer)
    return ([...SIGN_ON, 'OIDC_ADMINS', 'OIDC_VIEWERS'] as const)
      .filter((name) => (env[name]?.length ?? 0) > 0)
      .map((name) => `${name}: has no effect without OIDC_ISSUER`)
  const faults = SIGN_ON.filter((name) => !env[name]).map((name) => `${name}: OIDC_ISSUER needs it`)
  if (admins.length + viewers.length === 0)
    faults.push('OIDC_ADMINS, OIDC_VIEWERS: at least one must list who may sign in')
  return faults
}
