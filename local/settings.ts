import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { dataFolder } from './data-folder.ts'
import { LocalFault } from './fault.ts'

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

/** @throws ConfigError, LocalFault with all that is wrong, before anything is begun */
export function readSettings(env: NodeJS.ProcessEnv, args: readonly string[]): LocalSettings {
  checkEnvironment(env)
  return {
    env,
    dataFolder: dataFolder(env),
    host: env.HOST || '127.0.0.1',
    kafkaBrokers: env.KAFKA_BROKERS || undefined,
    registryUrl: env.SCHEMA_REGISTRY_URL || undefined,
    demo: readDemo(args, env),
  }
}

/** What `npm start` chooses by itself is filled in, so that all the rest is judged at once, as each process would. */
function checkEnvironment(env: NodeJS.ProcessEnv): void {
  const chosenHere = {
    KAFKA_BROKERS: '127.0.0.1:9092',
    SCHEMA_REGISTRY_URL: 'http://127.0.0.1',
    CONFIG_KEY: Buffer.alloc(32, 'made by npm start').toString('base64'),
    CONTROL_TOKEN: 'made by npm start',
  }
  const given = Object.entries(env).filter(([, value]) => value)
  readConfig({ ...chosenHere, ...Object.fromEntries(given) }, 'control')
}

/** `npm start --demo`, without the two dashes in between, arrives as npm's own setting. */
function readDemo(args: readonly string[], env: NodeJS.ProcessEnv): boolean {
  try {
    const { values } = parseArgs({ args: [...args], options: { demo: { type: 'boolean' } } })
    return values.demo ?? env.npm_config_demo === 'true'
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new LocalFault('setting_invalid', `${why}\nusage: npm start [-- --demo]`)
  }
}
