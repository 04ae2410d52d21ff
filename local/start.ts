import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type Config, readConfig } from '../config.ts'
import { createTopics } from '../kafka/admin/topics.ts'
import { type Connection, connect } from '../kafka/client.ts'
import type { Logger } from '../process/log.ts'
import { prepareKafka } from '../schemas/prepare-kafka.ts'
import { topics } from '../schemas/topics.ts'
import { makeDataFolder, ROOT } from './data-folder.ts'
import type { ClassArchive } from './kafka/class-archive.ts'
import { startKafkaAndRegistry } from './kafka/kafka-and-registry.ts'
import { takeLock } from './lock.ts'
import { nextFree } from './ports.ts'
import { killAllChildren } from './processes/child-process.ts'
import type { Shutdown } from './processes/shutdown.ts'
import { supervise } from './processes/supervise.ts'
import { publishRunning } from './running.ts'
import {
  type Addresses,
  addressesOf,
  type ChildEnvironment,
  chooseEnvironment,
  LOOPBACK_BLOCK,
  type LocalSettings,
} from './settings.ts'
import { banner, type FirstSteps, type Terminal } from './terminal.ts'

export type StartOptions = {
  settings: LocalSettings
  /** Closed in reverse order at the end. */
  closing: AsyncDisposableStack
  log: Logger
  terminal: Terminal
  shutdown: Pick<Shutdown, 'request' | 'signal'>
}

/** @throws LocalError, ConfigError */
export async function start(options: StartOptions): Promise<Addresses> {
  const { settings, closing, log, terminal, shutdown } = options
  await makeDataFolder(settings.dataFolder)
  const lock = await takeLock(settings.dataFolder)
  closing.defer(() => lock.release())
  closing.defer(killAllChildren)
  const { env, ports } = await chooseEnvironment(settings, terminal.line)
  const config = readConfig(env, 'control') // reports all faults before anything runs
  terminal.line('starting Sluice ...')
  const connection = connect(config.kafka, { clientId: 'sluice-start', log })
  const onKafka = () => makeTopics(connection, config)
  const archives = await startKafkaAndRegistry({
    ...options,
    ports,
    kafka: config.kafka,
    onKafka,
    ending: shutdown.signal,
  })
  await prepareKafka(
    connection,
    config,
    (reason) => reason && terminal.progress(`waiting for the schema registry: ${reason}`),
  )
  const addresses = await startProcesses(options, env)
  // a failed hint must not stop the start
  const steps = settings.demo ? undefined : await firstSteps(addresses).catch(() => undefined)
  terminal.line(banner(addresses, steps))
  makeArchives(archives).catch((err) => log.debug({ err }, 'no class archive: the next start is not faster'))
  return addresses
}

const RECEIVER_PORT = 9000

/** Undefined if something is set up, or webhooks may not reach this machine. */
async function firstSteps({
  control,
  controlToken,
  egressAllow,
}: Addresses): Promise<FirstSteps | undefined> {
  if (!egressAllow.split(',').includes(LOOPBACK_BLOCK)) return undefined
  const headers = { authorization: `Bearer ${controlToken}` }
  const kinds = await Promise.all(
    ['sources', 'destinations'].map(async (kind) => {
      const response = await fetch(`${control}/api/${kind}?limit=1`, { headers })
      return listed.safeParse(await response.json())
    }),
  )
  if (!kinds.every(({ data }) => data?.items.length === 0)) return undefined
  return { receiverPort: await nextFree(RECEIVER_PORT, { host: '127.0.0.1', used: [] }) }
}

const listed = z.object({ items: z.array(z.unknown()) })

async function makeTopics(connection: Connection, { delivery, dedupWindowMs, kafka }: Config): Promise<void> {
  await createTopics(connection, topics({ ...delivery, dedupWindowMs }), kafka)
}

const PROGRAMS = {
  ingest: 'ingest/main.ts',
  router: 'router/main.ts',
  deliverer: 'deliverer/main.ts',
  control: 'control/main.ts',
}
/** A process stops within 15 s (lifecycle.ts). */
const GRACE_MS = 16_000

async function startProcesses(
  { settings, closing, log, terminal, shutdown }: StartOptions,
  env: ChildEnvironment,
): Promise<Addresses> {
  const onRefused = (name: string) =>
    shutdown.request({ code: 2, message: `${name} rejects its settings; see its message above.` })
  const processes = supervise({
    programs: PROGRAMS,
    root: ROOT,
    env,
    log,
    ending: shutdown.signal,
    onRefused,
  })
  closing.defer(() => processes.stop(GRACE_MS))
  const addresses = addressesOf(env)
  const { ingest, ingestMetrics, router, deliverer, control } = addresses
  await allReady({ control }, terminal.line)
  // early, so that `sluice status` can say why the others are not ready
  closing.defer(await publishRunning(settings.dataFolder, addresses))
  await allReady({ ingest, 'ingest metrics': ingestMetrics, router, deliverer }, terminal.line)
  processes.accepted()
  return addresses
}

const SLOW_MS = 30_000

/** Waits without a limit. `onSlow` gets what is missing, once. */
async function allReady(
  bases: Readonly<Record<string, string>>,
  onSlow: (line: string) => void,
): Promise<void> {
  const waiting = new Map(Object.keys(bases).map((name) => [name, 'no answer']))
  const timer = setTimeout(() => onSlow(`not ready yet: ${reasons(waiting)}`), SLOW_MS)
  const waitFor = async ([name, base]: [string, string]) => {
    for (;;) {
      const answer = await ask(`${base}/readyz`)
      if (answer === 'ready') break
      waiting.set(name, answer)
      await sleep(100)
    }
    waiting.delete(name)
  }
  await Promise.all(Object.entries(bases).map(waitFor)).finally(() => clearTimeout(timer))
}

/** Names with the same answer share it: `ingest, router: no answer`. */
function reasons(answers: ReadonlyMap<string, string>): string {
  const byAnswer = Map.groupBy(answers, ([, answer]) => answer)
  return [...byAnswer].map(([answer, of]) => `${of.map(([name]) => name).join(', ')}: ${answer}`).join('; ')
}

async function ask(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    const text = await response.text()
    return response.status === 200 ? 'ready' : `${response.status} ${text.slice(0, 200).trim()}`
  } catch {
    return 'no answer'
  }
}

async function makeArchives(archives: readonly ClassArchive[]): Promise<void> {
  for (const archive of archives) await archive.make()
}
