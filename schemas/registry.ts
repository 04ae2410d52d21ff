import { Agent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import got, { HTTPError, RequestError } from 'got'
import { ConfigError, isUntrusted, readCertificates } from '../process/pem.ts'
import {
  type AlikeCodec,
  codec,
  type SchemaName,
  type SchemaSource,
  type SchemaTypes,
  schemaText,
} from './codec.ts'
import type { SchemaTopic as Topic } from './topics.ts'

/** How to reach the registry. `caFile`: path of a PEM file with further roots. */
export type RegistryConfig = {
  url: string
  auth: { username: string; password: string } | undefined
  caFile?: string | undefined
}

/** A registry's own request has no time limit: a register while its broker is away hangs. Repeating one is harmless. */
const REQUEST_MS = 10_000
/** A registry that is silent for longer is told of before its time limit. */
const SILENT_MS = 3_000

/** What it refuses may pass as well, as two first registers at once collide; not for longer than about a quarter of a minute. */
const REFUSALS = 8

type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number]

/** Told what a registry that is away says or does, again and again; and of `undefined` when it answers. */
export type OnAway = (what: string | undefined) => void

export type Registry = SchemaSource & {
  client: SchemaRegistry
  config: RegistryConfig
  onAway: OnAway
  againMs: number
}

/** The client has no time limit of its own, and a registry that takes connections and never answers would hold every reader. */
const limitedTo = (timeout: number): Middleware => {
  return () => ({ prepareRequest: (next) => next().then((request) => request.enhance({ timeout })) })
}

export type RegistryOptions = {
  onAway?: OnAway
  /** How long records wait for a schema while it is away, in ms: 0 unless told. */
  waitMs?: number
  /** Between two questions to it while it is away, in ms. */
  againMs?: number
  /** The limit of one request for a schema, in ms. */
  requestMs?: number
}

/** @throws ConfigError when the file of SCHEMA_REGISTRY_CA is not as it should be. */
export function openRegistry(config: RegistryConfig, options: RegistryOptions = {}): Registry {
  const { onAway = () => undefined, waitMs = 0, againMs = 1_000, requestMs = REQUEST_MS } = options
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
    onAway,
    waitMs,
    againMs,
  }
}

const rootsOf = ({ caFile }: RegistryConfig) => caFile && readCertificates('SCHEMA_REGISTRY_CA', caFile)

/**
 * Registers the schema of each topic that has one under `<topic>-value`, with compatibility BACKWARD. Waits for as long as the registry
 * is away, and says so.
 * @throws when a schema is not compatible with what is registered. ConfigError when it does not let us in, with what the settings say.
 */
export async function registerSchemas(
  registry: Registry,
  topics: readonly Topic[],
  named: (topic: string) => string,
): Promise<void> {
  await getIn(registry)
  for (const { name, schema } of topics) if (schema) await register(registry, schema, `${named(name)}-value`)
}

/** A refusal does not pass by itself, other than a registry that is away. */
async function getIn(registry: Registry): Promise<void> {
  const { config } = registry
  const list = () =>
    listSubjects(config).catch((error) => {
      // let in, and may not list: whether we may register is told where we do
      if (statusOf(error) !== 403) throw error
    })
  await whenThere(registry, list).catch((error) => {
    // also what stands in front of a registry that is still starting says so
    throw statusOf(error) === 404 ? new ConfigError([notThere(config)]) : error
  })
}

/** @returns what the registry answers, once it is there. @throws what does not pass by itself, and what it refuses again and again. */
async function whenThere<T>({ config, onAway, againMs }: Registry, ask: () => Promise<T>): Promise<T> {
  for (let refusals = 0; ; ) {
    let pauseMs = againMs
    const silent = setTimeout(() => onAway(`${config.url} does not answer`), SILENT_MS)
    try {
      const answer = await ask()
      onAway(undefined)
      return answer
    } catch (error) {
      const fault = faultOf(error)
      if (fault !== undefined) throw new ConfigError([fault])
      if (isAway(error)) onAway(`${config.url}: ${messageOf(error)}`)
      else if (error instanceof Incompatible || ++refusals > REFUSALS) throw error
      else pauseMs = Math.min(3_000, 125 * 2 ** refusals)
    } finally {
      clearTimeout(silent)
    }
    await sleep(pauseMs)
  }
}

/** Nobody answers, or what answers cannot now. The registry's client says 400 where nothing was answered. */
function isAway(error: unknown): boolean {
  const status = statusOf(error)
  if (typeof status !== 'number') return error instanceof RequestError
  return status >= 500 || status === 429 || (status === 400 && UNANSWERED.test(messageOf(error)))
}

/** As the client words it: behind its own name, without a message of the registry's. */
const UNANSWERED = / - Error, status 400: /

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** What is wrong with the settings, if it is these. */
function faultOf(error: unknown): string | undefined {
  const message = messageOf(error)
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
): Promise<AlikeCodec<SchemaTypes[N]>> {
  return codec(schema, await register(registry, schema, subject), registry)
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

function register(registry: Registry, schema: SchemaName, subject: string): Promise<number> {
  return whenThere(registry, async () => {
    try {
      const text = { type: SchemaType.AVRO as const, schema: schemaText(schema) }
      const { id } = await registry.client.register(text, { subject, compatibility: COMPATIBILITY.BACKWARD })
      return id
    } catch (error) {
      if (isIncompatible(error)) throw new Incompatible(schema, subject, error)
      // the client makes the schema first and its rule after it: a start killed in between leaves a subject without
      if (error instanceof Error && error.name === 'ConfluentSchemaRegistryCompatibilityError')
        await putCompatibility(registry.config, subject)
      throw error
    }
  })
}

class Incompatible extends Error {
  constructor(schema: SchemaName, subject: string, cause: Error) {
    const said = cause.message
    super(`schema ${schema} is not BACKWARD compatible with what is registered as ${subject}: ${said}`, {
      cause,
    })
  }
}

/** 409 says both: an incompatible schema, and (Apicurio) two processes that make the same rule at once. */
const isIncompatible = (error: unknown): error is Error =>
  error instanceof Error && statusOf(error) === 409 && !/already exists/.test(error.message)
