import { type Config, readConfig } from '../../config.ts'
import type { Role } from '../../settings/config-key.ts'

export const ROLES = ['ingest', 'router', 'deliverer', 'control'] as const

/** Whoever deploys sets these. */
const GIVEN: Record<string, string> = {
  CONFIG_KEY: Buffer.alloc(32, 'key 7 of the tests').toString('base64'),
  CONTROL_TOKEN: 'a-token-of-20-letters',
  CONTROL_VIEW_TOKEN: 'another-one-of-20-letters',
  KAFKA_SASL_USERNAME: 'sluice',
  KAFKA_SASL_PASSWORD: 'a-password',
}

/** Secrets are empty in `env`. @throws ConfigError */
export function configOf(role: Role, env: Record<string, string>): Config {
  const filled = Object.entries(env).map(([name, value]) => [name, value || (GIVEN[name] ?? '')])
  return readConfig(Object.fromEntries(filled), role)
}

/** Serves `/livez`, `/readyz` and `/metrics`. */
export const opsPort = ({ role, port, metricsPort }: Config): number =>
  role === 'ingest' || role === 'control' ? metricsPort : port
