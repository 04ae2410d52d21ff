import { Agent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import got, { HTTPError, RequestError } from 'got'
import { ConfigError } from '../process/config-error.ts'
import { isUntrusted, readCertificates } from '../process/pem.ts'
import { messageOf } from '../process/thrown.ts'
import type { SchemaSource } from './avro/writer-schemas.ts'
import { codec, type SchemaName, type SchemaTypes, schemaText, type VariantCodec } from './codec.ts'
import type { SchemaTopic as Topic } from './topics.ts'

/** `caFile`: further trusted roots, in PEM. */
export type RegistryConfig = {
  url: string
  auth: { username: string; password: string } | undefined
  caFile?: string | undefined
}

/** A registry that cannot reach its broker never answers a registration. */
const REQUEST_MS = 10_000
/** Silence is reported before the request times out. */
const SILENT_MS = 3_000

/** Concurrent first registrations may be refused. The retries take at most 15 s. */
const MAX_REFUSALS = 8

type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number]

/** Called repeatedly while the registry is unreachable, and with `undefined` when it answers. */
export type OnAway = (what: string | undefined) => void

export type Registry = SchemaSource & {
  client: SchemaRegistry
  config: RegistryConfig
  onAway: OnAway
  retryMs: number
}

/** The client itself has no timeout. */
const withTimeout = (timeout: number): Middleware => {
  return () => ({ prepareRequest: (next) => next().then((request) => request.enhance({ timeout })) })
}

export type RegistryOptions = {
  onAway?: OnAway
  /** How long records wait for a schema, in ms; 0 by default. */
  waitMs?: number
  retryMs?: number
  requestMs?: number
}

/** @throws ConfigError when the file of SCHEMA_REGISTRY_CA is unusable. */
export function openRegistry(config: RegistryConfig, options: RegistryOptions = {}): Registry {
  const { onAway = () => undefined, waitMs = 0, retryMs = 1_000, requestMs = REQUEST_MS } = options
  const { url: host, auth } = config
  const ca = rootsOf(config)
  return {
    client: new SchemaRegistry({
      host,
      middlewares: [withTimeout(requestMs)],
      ...(auth && { auth }),
      ...(ca && { agent: new Agent({ ca }) }),
    }),
    config,
    onAway,
    waitMs,
    retryMs,
  }
}

const rootsOf = ({ caFile }: RegistryConfig) => caFile && readCertificates('SCHEMA_REGISTRY_CA', caFile)

/**
 * Registers schemas as `<topic>-value`, with compatibility BACKWARD. Waits for an unreachable registry.
 * @throws when a schema is incompatible; ConfigError when the registry refuses access.
 */
export async function registerSchemas(
  registry: Registry,
  topics: readonly Topic[],
  named: (topic: string) => string,
): Promise<void> {
  await checkAccess(registry)
  for (const { name, schema } of topics) if (schema) await register(registry, schema, `${named(name)}-value`)
}

async function checkAccess(registry: Registry): Promise<void> {
  const { config } = registry
  const list = () =>
    listSubjects(config).catch((error) => {
      // without the right to list, registering may still be allowed
      if (statusOf(error) !== 403) throw error
    })
  await untilAnswered(registry, list).catch((error) => {
    // a proxy may also answer 404 while the registry starts
    throw statusOf(error) === 404 ? new ConfigError([wrongPath(config)]) : error
  })
}

/** Retries temporary errors. @throws the others, and repeated refusals. */
async function untilAnswered<T>(
  { config, onAway, retryMs }: Registry,
  request: () => Promise<T>,
): Promise<T> {
  for (let refusals = 0; ; ) {
    let pauseMs = retryMs
    const silent = setTimeout(() => onAway(`${config.url} does not answer`), SILENT_MS)
    try {
      const answer = await request()
      onAway(undefined)
      return answer
    } catch (error) {
      const fault = settingsFault(error)
      if (fault !== undefined) throw new ConfigError([fault])
      if (isAway(error)) onAway(`${config.url}: ${messageOf(error)}`)
      else if (error instanceof Incompatible || ++refusals > MAX_REFUSALS) throw error
      else pauseMs = Math.min(3_000, 125 * 2 ** refusals)
    } finally {
      clearTimeout(silent)
    }
    await sleep(pauseMs)
  }
}

/** The client reports status 400 if there was no answer. */
function isAway(error: unknown): boolean {
  const status = statusOf(error)
  if (typeof status !== 'number') return error instanceof RequestError
  return status >= 500 || status === 429 || (status === 400 && UNANSWERED.test(messageOf(error)))
}

/** Without an answer, the message has no text from the registry. */
const UNANSWERED = / - Error, status 400: /

/** @returns which setting is wrong, if one is. */
function settingsFault(error: unknown): string | undefined {
  const message = messageOf(error)
  const status = statusOf(error)
  if (status === 401 || status === 403)
    return `SCHEMA_REGISTRY_URL: the registry answers ${status} to the user and password`
  return isUntrusted(message) ? `SCHEMA_REGISTRY_CA: ${message}` : undefined
}

function statusOf(error: unknown): unknown {
  if (error instanceof HTTPError) return error.response.statusCode
  return error instanceof Error && 'status' in error ? error.status : undefined
}

const wrongPath = ({ url }: RegistryConfig) =>
  `SCHEMA_REGISTRY_URL: ${url}/subjects was not found (404). Is the path complete, such as Apicurio's /apis/ccompat/v7?`

export async function openCodec<N extends SchemaName>(
  registry: Registry,
  schema: N,
  subject: string,
): Promise<VariantCodec<SchemaTypes[N]>> {
  return codec(schema, await register(registry, schema, subject), registry)
}

/** Leaves alone the global rule, on which other programs may rely. */
async function putCompatibility(config: RegistryConfig, subject: string): Promise<void> {
  await got.put(`${config.url}/config/${encodeURIComponent(subject)}`, {
    json: { compatibility: COMPATIBILITY.BACKWARD },
    ...requestOf(config),
  })
}

async function listSubjects(config: RegistryConfig): Promise<void> {
  await got(`${config.url}/subjects`, requestOf(config))
}

function requestOf(config: RegistryConfig) {
  const certificateAuthority = rootsOf(config)
  return {
    ...(config.auth ?? {}),
    ...(certificateAuthority && { https: { certificateAuthority } }),
    timeout: { request: REQUEST_MS },
    retry: { limit: 0 },
  }
}

function register(registry: Registry, schema: SchemaName, subject: string): Promise<number> {
  return untilAnswered(registry, async () => {
    try {
      const text = { type: SchemaType.AVRO as const, schema: schemaText(schema) }
      const { id } = await registry.client.register(text, { subject, compatibility: COMPATIBILITY.BACKWARD })
      return id
    } catch (error) {
      if (isIncompatible(error)) throw new Incompatible(schema, subject, error)
      // the client sets the rule after the schema, so a start that was killed in between left no rule
      if (error instanceof Error && error.name === 'ConfluentSchemaRegistryCompatibilityError')
        await putCompatibility(registry.config, subject)
      throw error
    }
  })
}

class Incompatible extends Error {
  constructor(schema: SchemaName, subject: string, cause: Error) {
    const text = `schema ${schema} is not BACKWARD compatible with what is registered as ${subject}`
    super(`${text}: ${cause.message}`, { cause })
  }
}

/** From Apicurio, 409 also means that two processes create a rule at once. */
const isIncompatible = (error: unknown): error is Error =>
  error instanceof Error && statusOf(error) === 409 && !/already exists/.test(error.message)
