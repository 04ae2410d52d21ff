import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import got from 'got'
import pRetry, { AbortError } from 'p-retry'
import type { Config } from '../config.ts'
import { type Codec, codec, type SchemaName, type SchemaTypes, schemaText } from './codec.ts'
import type { Topic } from './topics.ts'

type RegistryConfig = Config['registry']

/** A registry's own request has no time limit: a register while its broker is away hangs. Repeating one is harmless. */
const REQUEST_MS = 10_000

const retries = { retries: 8, minTimeout: 250, maxTimeout: 3_000 }

type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number]

export type Registry = { client: SchemaRegistry; config: RegistryConfig }

/** The client has no time limit of its own, and a registry that takes connections and never answers would hold every reader. */
const limitedTo = (timeout: number): Middleware => {
  return () => ({ prepareRequest: (next) => next().then((request) => request.enhance({ timeout })) })
}

export function openRegistry(config: RegistryConfig, requestMs = REQUEST_MS): Registry {
  const { url: host, auth } = config
  return {
    client: new SchemaRegistry({ host, middlewares: [limitedTo(requestMs)], ...(auth && { auth }) }),
    config,
  }
}

/**
 * Registers the schema of each topic that has one under `<topic>-value`, with compatibility BACKWARD.
 * @throws when a schema is not compatible with what is registered, or the registry does not answer within about a minute.
 */
export async function registerSchemas(
  config: RegistryConfig,
  topics: readonly Topic[],
  named: (topic: string) => string,
): Promise<void> {
  const registry = openRegistry(config)
  await pRetry(() => putCompatibility(config), retries)
  for (const { name, schema } of topics) if (schema) await register(registry, schema, `${named(name)}-value`)
}

/** @returns a codec whose records carry the id under which `topic`'s schema is registered. */
export async function openCodec<N extends SchemaName>(
  registry: Registry,
  schema: N,
  subject: string,
): Promise<Codec<SchemaTypes[N]>> {
  return codec(schema, await register(registry, schema, subject), registry.client)
}

/** Sets the rule of one subject, or of all that have none of their own. */
async function putCompatibility({ url, auth }: RegistryConfig, subject?: string): Promise<void> {
  const path = subject === undefined ? 'config' : `config/${encodeURIComponent(subject)}`
  await got.put(`${url}/${path}`, {
    json: { compatibility: COMPATIBILITY.BACKWARD },
    ...(auth ?? {}),
    timeout: { request: REQUEST_MS },
    retry: { limit: 0 },
  })
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
        await putCompatibility(registry.config, subject)
      throw isIncompatible(error) ? new AbortError(incompatible(schema, subject, error)) : error
    }
  }, retries)
}

const incompatible = (schema: SchemaName, subject: string, { message }: Error) =>
  `schema ${schema} is not BACKWARD compatible with what is registered as ${subject}: ${message}`

/** 409 says both: an incompatible schema, and (Apicurio) two processes that make the same rule at once. */
const isIncompatible = (error: unknown): error is Error =>
  error instanceof Error && 'status' in error && error.status === 409 && !/already exists/.test(error.message)
