import { type Config, readConfig } from '../config.ts'
import { createTopics } from '../kafka/admin/topics.ts'
import { type Connection, connect } from '../kafka/client.ts'
import type { Logger } from '../process/log.ts'
import { prepareKafka } from '../schemas/prepare-kafka.ts'
import { topics } from '../schemas/topics.ts'
import { type Addresses, addressesOf } from './addresses.ts'
import type { Archive } from './archive.ts'
import { banner } from './banner.ts'
import { chooseEnvironment } from './choose.ts'
import { ROOT } from './data-folder.ts'
import type { Endings } from './endings.ts'
import type { ChildEnvironment } from './environment.ts'
import { startKafkaAndRegistry } from './kafka-and-registry.ts'
import { makeDataFolder } from './keys.ts'
import { takeLock } from './lock.ts'
import { allReady } from './ready.ts'
import { tellRunning } from './running.ts'
import type { Say } from './say.ts'
import type { LocalSettings } from './settings.ts'
import { supervise } from './supervise.ts'
import { killAllTied } from './tied.ts'

export type StartOptions = {
  settings: LocalSettings
  /** Gets what must end with `npm start`; closed in reverse order. */
  closing: AsyncDisposableStack
  log: Logger
  say: Say
  endings: Pick<Endings, 'request' | 'signal'>
}

/** All of `npm start`, from the lock to `sluice ready`. @throws LocalFault, ConfigError */
export async function start(options: StartOptions): Promise<Addresses> {
  const { settings, closing, log, say, endings } = options
  await makeDataFolder(settings.dataFolder)
  const lock = await takeLock(settings.dataFolder)
  closing.defer(() => lock.release())
  closing.defer(killAllTied)
  const { env, ports } = await chooseEnvironment(settings, say)
  const config = readConfig(env, 'control') // all faults are told before anything runs
  say.line('starting Sluice ...')
  const connection = connect(config.kafka, { clientId: 'sluice-start', log })
  const onKafka = () => makeTopics(connection, config)
  const archives = await startKafkaAndRegistry({
    ...options,
    ports,
    kafka: config.kafka,
    onKafka,
    ending: endings.signal,
  })
  await prepareKafka(
    connection,
    config,
    (what) => what && say.progress(`waiting for the schema registry: ${what}`),
  )
  const addresses = await startProcesses(options, env)
  closing.defer(await tellRunning(settings.dataFolder, addresses))
  say.line(banner(addresses))
  makeAll(archives).catch((err) => log.debug({ err }, 'no class archive, the next start is not quicker'))
  return addresses
}

/** The part of `prepareKafka` that needs no registry. */
async function makeTopics(connection: Connection, { delivery, dedupWindowMs, kafka }: Config): Promise<void> {
  await createTopics(connection, topics({ ...delivery, dedupWindowMs }), kafka)
}

const PROGRAMS = {
  ingest: 'ingest/main.ts',
  router: 'router/main.ts',
  deliverer: 'deliverer/main.ts',
  control: 'control/main.ts',
}
/** A process ends by itself after at most 15 s (lifecycle.ts). */
const GRACE_MS = 16_000

async function startProcesses(
  { closing, log, say, endings }: StartOptions,
  env: ChildEnvironment,
): Promise<Addresses> {
  const onRefused = (name: string) =>
    endings.request({ code: 2, message: `${name} refuses its settings; it says why above.` })
  const processes = supervise({ programs: PROGRAMS, root: ROOT, env, log, ending: endings.signal, onRefused })
  closing.defer(() => processes.stop(GRACE_MS))
  const addresses = addressesOf(env)
  const { ingest, ingestMetrics, router, deliverer, control } = addresses
  const bases = Object.entries({ ingest, 'ingest metrics': ingestMetrics, router, deliverer, control })
  await allReady({
    urls: Object.fromEntries(bases.map(([name, base]) => [name, `${base}/readyz`])),
    onSlow: say.line,
  })
  processes.accepted()
  return addresses
}

async function makeAll(archives: readonly Archive[]): Promise<void> {
  for (const archive of archives) await archive.make()
}
