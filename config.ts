import ms, { type StringValue } from 'ms'
import { z } from 'zod'
import { faultOfCidr, faultOfWidth } from './egress/blocks.ts'
import type { KafkaConfig } from './kafka/client.ts'
import { ConfigError } from './process/config-error.ts'
import { DELIVERIES_RETENTION, OUTAGE_MS } from './schemas/topics.ts'
import { keysFor, parseConfigKey, type Role } from './settings/config-key.ts'
import { readTraces, TRACE_SETTINGS, type TraceSettings } from './trace/settings.ts'

/** Names and defaults: docs/reference/settings.md. */

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
)
const brokers = list.transform((texts, ctx) => {
  if (texts.length === 0) ctx.addIssue('needs at least one host:port')
  for (const text of texts) {
    // kafkajs divides it at the first colon
    const port = Number(/^[^:\s]+:(\d+)$/.exec(text)?.[1])
    if (!(port >= 1 && port <= 65_535))
      ctx.addIssue(`"${text}" is not host:port, with a name or an IPv4 address as host`)
  }
  return texts
})
const whole = (least: number, most: number) =>
  z.string().transform((text, ctx) => {
    const number = Number(text)
    if (/^\d+$/.test(text) && number >= least && number <= most) return number
    ctx.addIssue(`"${text}" is not a whole number from ${least} to ${most}`)
    return z.NEVER
  })
const port = whole(0, 65_535)
const flag = z
  .enum(['true', 'false', '1', '0'], 'true or false')
  .transform((text) => text === 'true' || text === '1')

const oneOf = <const T extends readonly string[]>(words: T) =>
  z.enum(words, { error: ({ input }) => `"${input}" is not one of ${words.join(', ')}` })

/** In hours, because `durationMs` does not take days. */
const hours = (span: number) => `${span / 3_600_000}h`

const durationMs = z.string().transform((text, ctx) => {
  // `ms` also takes words ("2 days"); topic names can contain these four units
  if (/^\d+(\.\d+)?(ms|s|m|h)$/.test(text)) return ms(text as StringValue)
  ctx.addIssue(`"${text}" is not a duration: give a number with ms, s, m or h, like 500ms or 4h`)
  return z.NEVER
})

const ladder = list.transform((delays, ctx) => {
  const parsed = delays.map((delay) => ({ name: delay, ...durationMs.safeParse(delay) }))
  for (const { name, error } of parsed) if (error) ctx.addIssue(`"${name}" is not a duration like 30s or 5m`)
  const rungs = parsed.map(({ name, data }) => ({ name, delayMs: data ?? 0 }))
  if (rungs.length === 0) ctx.addIssue('needs at least one delay')
  return rungs
})

const UNITS = { MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 }

const bytes = z.string().transform((text, ctx) => {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(MB|GB|TB)$/.exec(text) ?? []
  const size = Number(number) * UNITS[unit as keyof typeof UNITS]
  if (size > 0) return Math.round(size)
  ctx.addIssue(`"${text}" is not a size: give a number above 0 with MB, GB or TB, like 20GB`)
  return z.NEVER
})

const cidrs = list.transform((blocks, ctx) => {
  for (const fault of blocks.map(faultOfCidr)) if (fault) ctx.addIssue(fault)
  return blocks
})

const proxies = cidrs.transform((blocks, ctx) => {
  for (const block of blocks)
    if (block.endsWith('/0'))
      ctx.addIssue(`"${block}" lets every client claim any address: list only your load balancers`)
  return blocks
})

const privateCidrs = cidrs.transform((blocks, ctx) => {
  for (const fault of blocks.map(faultOfWidth)) if (fault) ctx.addIssue(fault)
  return blocks
})

const ports = list.transform((texts, ctx) =>
  texts.map((text): [number, number] => {
    const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? []
    const range: [number, number] = [Number(first), Number(last)]
    if (!(range[0] >= 1 && range[0] <= range[1] && range[1] <= 65_535))
      ctx.addIssue(`"${text}" is neither a port from 1 to 65535 nor a range like 8000-8099`)
    return range
  }),
)

const keys = list.transform((texts, ctx) => {
  const found = texts.map(parseConfigKey)
  if (found.length === 0) ctx.addIssue('needs at least one key')
  if (found.includes(undefined))
    ctx.addIssue('each key must be 32 bytes in base64, or derived by sluice keys')
  const [first] = found
  // a weak key may follow a new one, to decrypt old secrets
  if (first && 'whole' in first && new Set(first.whole).size < LEAST_BYTES)
    ctx.addIssue(
      'the first key is not random: put one from openssl rand -base64 32 before it, as CONFIG_KEY=new,old',
    )
  return found.filter((key) => key !== undefined)
})

/** Distinct bytes of a key and characters of a token: random ones have more. */
const LEAST_BYTES = 8
const LEAST_CHARACTERS = 5

const token = z
  .string()
  .min(16, 'at least 16 characters')
  .refine(
    (text) => new Set(text).size >= LEAST_CHARACTERS,
    'is easy to guess: generate one with openssl rand -hex 24',
  )
  .regex(/^[!-~]*$/, 'has a space, a line break or a character outside ASCII, which headers cannot carry')

/** Also true for text that is not a URL, which has its own error. */
function hasReadableCredentials(text: string): boolean {
  const { username = '', password = '' } = URL.parse(text) ?? {}
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

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
    tokens: { admin: env.CONTROL_TOKEN ?? '', view: env.CONTROL_VIEW_TOKEN },
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
    ? rules(parsed.data)
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
