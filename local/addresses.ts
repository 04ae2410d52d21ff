import type { ChildEnvironment } from './environment.ts'

/** Where a started system is reached; URLs without a slash at the end. */
export type Addresses = {
  ingest: string
  control: string
  router: string
  deliverer: string
  ingestMetrics: string
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
    router: at(env.ROUTER_PORT),
    deliverer: at(env.DELIVERER_PORT),
    ingestMetrics: at(env.INGEST_METRICS_PORT),
    brokers: env.KAFKA_BROKERS,
    registryUrl: env.SCHEMA_REGISTRY_URL,
    controlToken: env.CONTROL_TOKEN,
    egressAllow: env.EGRESS_ALLOW,
  }
}

/** A host to connect to, for a host to listen on. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
