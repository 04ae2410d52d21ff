import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type ChildEnvironment, childEnvironment } from './environment.ts'
import { LocalFault } from './fault.ts'
import { findKeptPorts, type KeptPorts } from './kept-ports.ts'
import { findKeys } from './keys.ts'
import { choosePorts } from './ports.ts'
import type { Say } from './say.ts'
import type { LocalSettings } from './settings.ts'

/** Everything that the environment leaves open: keys, ports, addresses. @throws LocalFault */
export async function chooseEnvironment(
  settings: LocalSettings,
  say: Say,
): Promise<{ env: ChildEnvironment; ports: KeptPorts }> {
  refuseSecureWithoutRegistry(settings)
  const { dataFolder, env, host, kafkaBrokers, registryUrl } = settings
  // ports.json is written after the keys, so without it nothing was ever encrypted under them
  const isNew = !existsSync(join(dataFolder, 'ports.json')) || Boolean(env.CONFIG_KEY)
  const keys = await findKeys(dataFolder, { isNew })
  const processPorts = await choosePorts(env, host, say.line)
  const ports = await findKeptPorts({
    folder: dataFolder,
    taken: Object.values(processPorts),
    started: { kafka: !kafkaBrokers, registry: !registryUrl },
    say: say.line,
  })
  const chosen = {
    brokers: kafkaBrokers ?? `127.0.0.1:${ports.kafka}`,
    registryUrl: registryUrl ?? `http://127.0.0.1:${ports.registry}/apis/ccompat/v7`,
    ports: processPorts,
    keys,
  }
  return { env: childEnvironment(settings, chosen), ports }
}

function refuseSecureWithoutRegistry({ env, kafkaBrokers, registryUrl }: LocalSettings): void {
  if (!kafkaBrokers || registryUrl || !(env.KAFKA_SSL || env.KAFKA_SASL_MECHANISM)) return
  const message =
    'SCHEMA_REGISTRY_URL: not set. The registry that npm start brings speaks to Kafka without TLS and SASL only.'
  throw new LocalFault('setting_invalid', message)
}
