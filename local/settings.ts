import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../config.ts'
import { messageOf } from '../process/thrown.ts'
import { dataFolder, findKeys, type Keys } from './data-folder.ts'
import { LocalError } from './errors.ts'
import { chooseKafkaPorts, choosePorts, type KafkaPorts, type Ports } from './ports.ts'

/** Each process reads the rest (config.ts). */
export type LocalSettings = {
  env: NodeJS.ProcessEnv
  /** Absolute. */
  dataFolder: string
  host: string
  kafkaBrokers: string | undefined
  /** Undefined: start the registry here. */
  registryUrl: string | undefined
  demo: boolean
}

/** Reports all faults at once. @throws ConfigError, LocalError */
export function readSettings(env: NodeJS.ProcessEnv, args: readonly string[]): LocalSettings {
  const { host, kafka } = checkEnvironment(env)
  const settings = {
    env,
    dataFolder: dataFolder(env),
    host: env.HOST ? host : '127.0.0.1',
    kafkaBrokers: env.KAFKA_BROKERS || undefined,
    registryUrl: env.SCHEMA_REGISTRY_URL || undefined,
    demo: readDemo(args, env),
  }
  if (kafka.ssl || kafka.sasl) refuseSecurityOfLocalKafka(settings)
  if (kafka.replication > 1 && !settings.kafkaBrokers)
    throw new LocalError(
      'setting_invalid',
      `REPLICATION is ${kafka.replication}, but npm start runs one broker: unset it, or set KAFKA_BROKERS.`,
    )
  return settings
}

/** As the processes will read it, with placeholders for what is chosen later. */
function checkEnvironment(env: NodeJS.ProcessEnv): Config {
  const placeholders = {
    KAFKA_BROKERS: '127.0.0.1:9092',
    SCHEMA_REGISTRY_URL: 'http://127.0.0.1',
    CONFIG_KEY: Buffer.alloc(32, 'made by npm start').toString('base64'),
    CONTROL_TOKEN: 'made-by-npm-start',
  }
  const given = Object.entries(env).filter(([, value]) => value)
  return readConfig({ ...placeholders, ...Object.fromEntries(given) }, 'control')
}

function refuseSecurityOfLocalKafka({
  kafkaBrokers,
  registryUrl,
}: Pick<LocalSettings, 'kafkaBrokers' | 'registryUrl'>): void {
  if (!kafkaBrokers)
    throw new LocalError(
      'setting_invalid',
      'KAFKA_BROKERS is not set. The Kafka that npm start runs has neither TLS nor SASL: set KAFKA_BROKERS, or unset KAFKA_SSL and KAFKA_SASL_MECHANISM.',
    )
  if (!registryUrl)
    throw new LocalError(
      'setting_invalid',
      'SCHEMA_REGISTRY_URL is not set. The registry that npm start runs supports only Kafka without TLS and SASL.',
    )
}

/** Without the extra dashes (`npm start --demo`), npm takes the option and passes it on as npm_config_demo. */
function readDemo(args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  try {
    const { values } = parseArgs({ args: [...args], options: { demo: { type: 'boolean' } } })
    return values.demo ?? env.npm_config_demo === 'true'
  } catch (error) {
    throw new LocalError('setting_invalid', `${messageOf(error)}\nusage: npm start [-- --demo]`)
  }
}

/** `onChange` gets a line for each unusual port. @throws LocalError */
export async function chooseEnvironment(
  settings: LocalSettings,
  onChange: (line: string) => void,
): Promise<{ env: ChildEnvironment; ports: KafkaPorts }> {
  const { dataFolder, env, host, kafkaBrokers, registryUrl } = settings
  // ports.json is written after the keys: without it, they have encrypted nothing
  const isNew = !existsSync(join(dataFolder, 'ports.json')) || Boolean(env.CONFIG_KEY)
  const keys = await findKeys(dataFolder, { isNew })
  const processPorts = await choosePorts(env, host, onChange)
  const ports = await chooseKafkaPorts({
    folder: dataFolder,
    taken: Object.values(processPorts),
    started: { kafka: !kafkaBrokers, registry: !registryUrl },
    onChange,
  })
  const chosen = {
    brokers: kafkaBrokers ?? `127.0.0.1:${ports.kafka}`,
    registryUrl: registryUrl ?? `http://127.0.0.1:${ports.registry}/apis/ccompat/v7`,
    ports: processPorts,
    keys,
  }
  return { env: childEnvironment(settings, chosen), ports }
}

export const LOOPBACK_BLOCK = '127.0.0.0/8'
const LOOPBACK_BLOCKS = `${LOOPBACK_BLOCK},::1/128`

export type Chosen = { brokers: string; registryUrl: string; ports: Ports; keys: Keys }

export function childEnvironment(
  { env, host }: LocalSettings,
  { brokers, registryUrl, ports, keys }: Chosen,
) {
  return {
    ...env,
    HOST: host,
    KAFKA_BROKERS: brokers,
    SCHEMA_REGISTRY_URL: registryUrl,
    KAFKAJS_NO_PARTITIONER_WARNING: '1',
    INGEST_PORT: String(ports.INGEST_PORT),
    CONTROL_PORT: String(ports.CONTROL_PORT),
    ROUTER_PORT: String(ports.ROUTER_PORT),
    DELIVERER_PORT: String(ports.DELIVERER_PORT),
    INGEST_METRICS_PORT: String(ports.INGEST_METRICS_PORT),
    CONTROL_METRICS_PORT: String(ports.CONTROL_METRICS_PORT),
    CONTROL_TOKEN: env.CONTROL_TOKEN || keys.CONTROL_TOKEN,
    CONTROL_VIEW_TOKEN: env.CONTROL_VIEW_TOKEN || keys.CONTROL_VIEW_TOKEN,
    CONFIG_KEY: env.CONFIG_KEY || keys.CONFIG_KEY,
    OIDC_ISSUER: env.OIDC_ISSUER,
    CONSOLE_URL: env.CONSOLE_URL,
    // set but empty means none
    EGRESS_ALLOW: env.EGRESS_ALLOW ?? LOOPBACK_BLOCKS,
  }
}

export type ChildEnvironment = ReturnType<typeof childEnvironment>

/** URLs without a trailing slash. */
export type Addresses = {
  ingest: string
  control: string
  /** With single sign-on. */
  consoleUrl?: string | undefined
  router: string
  deliverer: string
  ingestMetrics: string
  controlMetrics: string
  brokers: string
  registryUrl: string
  controlToken: string
  egressAllow: string
}

export function addressesOf(env: ChildEnvironment): Addresses {
  const at = (port: string) => `http://${reachable(env.HOST)}:${port}`
  return {
    ingest: at(env.INGEST_PORT),
    control: at(env.CONTROL_PORT),
    consoleUrl: env.OIDC_ISSUER && env.CONSOLE_URL,
    router: at(env.ROUTER_PORT),
    deliverer: at(env.DELIVERER_PORT),
    ingestMetrics: at(env.INGEST_METRICS_PORT),
    controlMetrics: at(env.CONTROL_METRICS_PORT),
    brokers: env.KAFKA_BROKERS,
    registryUrl: env.SCHEMA_REGISTRY_URL,
    controlToken: env.CONTROL_TOKEN,
    egressAllow: env.EGRESS_ALLOW,
  }
}

function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
