import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** What only `npm start` asks of the environment; all else is read by `config.ts`, in each process. */
export type LocalSettings = {
  env: NodeJS.ProcessEnv
  /** Kafka's data, keys, ports, lock; absolute. */
  dataFolder: string
  host: string
  /** Undefined: start one here. */
  kafkaBrokers: string | undefined
  registryUrl: string | undefined
  demo: boolean
}

export function readSettings(env: NodeJS.ProcessEnv, args: readonly string[]): LocalSettings {
  const folder = env.SLUICE_DATA || '.sluice'
  return {
    env,
    dataFolder: isAbsolute(folder) ? folder : resolve(ROOT, folder),
    host: env.HOST || '127.0.0.1',
    kafkaBrokers: env.KAFKA_BROKERS || undefined,
    registryUrl: env.SCHEMA_REGISTRY_URL || undefined,
    demo: args.includes('--demo'),
  }
}
