import type { Keys } from './keys.ts'
import type { Ports } from './ports.ts'
import type { LocalSettings } from './settings.ts'

const LOOPBACK = '127.0.0.0/8,::1/128'

export type Chosen = { brokers: string; registryUrl: string; ports: Ports; keys: Keys }

/** What the four processes find in their environment: the user's own, and what was chosen here where it says nothing. */
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
    // set but empty means none
    EGRESS_ALLOW: env.EGRESS_ALLOW ?? LOOPBACK,
  }
}

export type ChildEnvironment = ReturnType<typeof childEnvironment>
