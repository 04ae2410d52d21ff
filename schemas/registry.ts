import { Agent } from 'node:https'
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import got, { HTTPError } from 'got'
import pRetry, { AbortError } from 'p-retry'
import { type Config, ConfigError } from '../config.ts'
import { isUntrusted, readCertificates } from '../pem.ts'
import { type Codec, codec, type SchemaName, type SchemaTypes, schemaText } from './codec.ts'
import type { Topic } from './topics.ts'

type RegistryConfig = Pick<Config['registry'], 'url' | 'auth'> & Partial<Config['registry']>

/** A registry's own request has no time limit: a register while its broker is away hangs. Repeating one is harmless. */
const REQUEST_MS = 10_000

const retries = { retries: 8, minTimeout: 250, maxTimeout: 3_000 }

type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number]

export type Registry = { client: SchemaRegistry; config: RegistryConfig }

/** The client has no time limit of its own, and a registry that takes connections and never answers would hold every reader. */
const limitedTo = (timeout: number): Middleware => {
  return () => ({ prepareRequest: (next) => next().then((request) => request.enhance({ timeout })) })
}

/** @throws ConfigError when the file of SCHEMA_REGISTRY_CA is not as it should be. */
export function openRegistry(config: RegistryConfig, requestMs = REQUEST_MS): Registry {
  const { url: host, auth } = config
  const ca = rootsOf(config)
  return {
    client: new SchemaRegistry({
      host,
      middlewares: [limitedTo(requestMs)],
      ...(auth && { auth }),
      ...(ca && { agent: new Agent({ ca }) }),
    }),
    config,
  }
}

const rootsOf = ({ caFile }: RegistryConfig) => caFile && readCertificates('SCHEMA_REGISTRY_CA', caFile)

/**
 * Registers the schema of each topic that has one under `<topic>-value`, with compatibility BACKWARD.
 * @throws when a schema is not compatible with what is registered, or the registry does not answer within about a minute.
 * ConfigError when it does not let us in, with what the settings say.
 */
export async function registerSchemas(
  config: RegistryConfig,
  topics: readonly Topic[],
  named: (topic: string) => string,
): Promise<void> {
  const registry = openRegistry(config)
  await getIn(config)
  for (const { name, schema } of topics) if (schema) await register(registry, schema, `${named(name)}-value`)
}

/** A refusal does not pass by itself, other than a registry that is away. */
async function getIn(config: RegistryConfig): Promise<void> {
  await pRetry(async () => {
    try {
      await listSubjects(config)
    } catch (error) {
      // let in, and may not list: whether we may register is told where we do
      if (statusOf(error) === 403) return
      throw lasting(error)
    }
  }, retries).catch((error) => {
    // also what stands in front of a registry that is still starting says so
    if (statusOf(error) === 404) throw new ConfigError([notThere(config)])
    throw error
  })
}

/** What does not pass by itself is not tried again. */
function lasting(error: unknown): unknown {
  const fault = faultOf(error)
  return fault === undefined ? error : new AbortError(new ConfigError([fault]))
}

/** What is wrong with the settings, if it is these. */
function faultOf(error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : ''
  const status = statusOf(error)
  if (status === 401 || status === 403)
    return `SCHEMA_REGISTRY_URL: the registry answers ${status} to its user and password`
  return isUntrusted(message) ? `SCHEMA_REGISTRY_CA: ${message}` : undefined
}

function statusOf(error: unknown): unknown {
  if (error instanceof HTTPError) return error.response.statusCode
  // of the registry's client
  return error instanceof Error && 'status' in error ? error.status : undefined
}

const notThere = ({ url }: RegistryConfig) =>
  `SCHEMA_REGISTRY_URL: ${url}/subjects is not there (404). Does the path lack its end, such as Apicurio's /apis/ccompat/v7?`

/** @returns a codec whose records carry the id under which `topic`'s schema is registered. */
export async function openCodec<N extends SchemaName>(
  registry: Registry,
  schema: N,
  subject: string,
): Promise<Codec<SchemaTypes[N]>> {
  return codec(schema, await register(registry, schema, subject), registry.client)
}

/** Sets the rule of one subject; that of all others may be somebody else's. */
async function putCompatibility(config: RegistryConfig, subject: string): Promise<void> {
  await got.put(`${config.url}/config/${encodeURIComponent(subject)}`, {
    json: { compatibility: COMPATIBILITY.BACKWARD },
    ...requestOf(config),
  })
}

/** Asks, and changes nothing. */
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

/** Two first registers at once collide in the registry's rules, and pass when repeated. */
function register(registry: Registry, schema: SchemaName, subject: string): Promise<number> {
  return pRetry(async () => {
    try {
      const text = { type: SchemaType.AVRO as const, schema: schemaText(schema) }
      const { id } = await registry.client.register(text, { subject, compatibility: COMPATIBILITY.BACKWARD })
      return id
    } catch (error) {
      // the client makes the schema first and its rule after it: a start killed in between leaves a subject without
      if (error instanceof Error && error.name === 'ConfluentSchemaRegistryCompatibilityError')
        await putCompatibility(registry.config, subject).catch((refusal) => {
          throw lasting(refusal)
        })
      throw isIncompatible(error) ? new AbortError(incompatible(schema, subject, error)) : lasting(error)
    }
  }, retries)
}

const incompatible = (schema: SchemaName, subject: string, { message }: Error) =>
  `schema ${schema} is not BACKWARD compatible with what is registered as ${subject}: ${message}`

/** 409 says both: an incompatible schema, and (Apicurio) two processes that make the same rule at once. */
const isIncompatible = (error: unknown): error is Error =>
  error instanceof Error && statusOf(error) === 409 && !/already exists/.test(error.message)
