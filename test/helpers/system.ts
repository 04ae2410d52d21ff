import { inject } from 'vitest'
import type { Launched } from '../../harness/launch.ts'
import * as prepared from '../../harness/prepare.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import * as harness from '../../harness/system.ts'
import type { Role } from '../../settings/config-key.ts'
import { closing } from './cluster.ts'
import { planted } from './planted.ts'

export type { LogLine, System } from '../../harness/system.ts'

/** A system on the run's broker. Secrets that its processes print fail the test file. @param roles default: all. */
export const startSystem = (
  settings: Record<string, string> = {},
  roles?: readonly Role[],
): Promise<harness.System> =>
  harness.startSystem({
    brokers: inject('kafkaBrokers'),
    registryUrl: inject('registryUrl'),
    settings,
    observer: planted,
    ...(roles && { roles }),
  })

/** A receiver that is closed at the end of the test. */
export const aReceiver = async (): Promise<Receiver> => closing(await startReceiver())

/** Topics, schemas and sources on a broker, without processes. */
export function prepareSystem(
  options: Parameters<typeof prepared.prepareSystem>[0],
): Promise<prepared.PreparedSystem> {
  planted.given(options.sources)
  return prepared.prepareSystem(options)
}

/** Ingest alone, on ports of its own. */
export const startIngest = (system: Pick<prepared.PreparedSystem, 'env'>): Promise<Launched> =>
  prepared.startRole('ingest', system, { observer: planted })
