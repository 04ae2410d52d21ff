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

export const openRegistry = ({ url, auth }: RegistryConfig) =>
  new SchemaRegistry(auth ? { host: url, auth } : { host: url })

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
  registry: SchemaRegistry,
  schema: N,
  subject: string,
): Promise<Codec<SchemaTypes[N]>> {
  return codec(schema, await register(registry, schema, subject), registry)
}

async function putCompatibility({ url, auth }: RegistryConfig): Promise<void> {
  await got.put(`${url}/config`, {
    json: { compatibility: COMPATIBILITY.BACKWARD },
    ...(auth ?? {}),
    timeout: { request: REQUEST_MS },
    retry: { limit: 0 },
  })
}

/** Two first registers at once collide in the registry's rules, and pass when repeated. */
function register(registry: SchemaRegistry, schema: SchemaName, subject: string): Promise<number> {
  return pRetry(async () => {
    const registering = registry
      .register(
        { type: SchemaType.AVRO, schema: schemaText(schema) },
        { subject, compatibility: COMPATIBILITY.BACKWARD },
      )
      .catch((error) => {
        throw isIncompatible(error)
          ? new AbortError(
              `schema ${schema} is not BACKWARD compatible with subject ${subject}: ${error.message}`,
            )
          : error
      })
    const { id } = await Promise.race([registering, timeLimit(subject)])
    return id
  }, retries)
}

/** 409 says both: an incompatible schema, and (Apicurio) two processes that make the same rule at once. */
const isIncompatible = (error: unknown): error is Error =>
  error instanceof Error && 'status' in error && error.status === 409 && !/already exists/.test(error.message)

function timeLimit(subject: string): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(
      () => reject(new Error(`the schema registry has not registered ${subject} within ${REQUEST_MS} ms`)),
      REQUEST_MS,
    ).unref()
  })
}
