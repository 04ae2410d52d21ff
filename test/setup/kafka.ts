import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startOwnRegistry, temporaryFiles } from '../../harness/kafka/stack.ts'
import { NODE_FLAGS } from '../../harness/launch.ts'
import { LocalError } from '../../local/errors.ts'
import { startBroker } from '../../local/kafka/broker.ts'
import { classArchive } from '../../local/kafka/class-archive.ts'
import { cacheFolder, kafkaJars } from '../../local/kafka/downloads.ts'
import { findJava } from '../../local/kafka/java.ts'
import { ensureTestJournal } from '../../local/kafka/registry.ts'
import { spawnChild } from '../../local/processes/child-process.ts'
import { terminalOn } from '../../local/terminal.ts'
import { ROLES } from '../../settings/config-key.ts'
import { needingJava } from './needs-java.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** host:port list of the broker that this run uses: `inject('kafkaBrokers')`. */
    kafkaBrokers: string
    /** Of that broker, unless it runs elsewhere. */
    kafkaFolder: string | undefined
    registryUrl: string
  }
}

export type TestKafka = { brokers: string; folder?: string; registryUrl: string; stop(): Promise<void> }

/** Vitest's globalSetup: one broker and one registry for the whole run. They end with it, also when it is killed. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [found] = await Promise.all([findKafka(process.env), fill()])
  project.provide('kafkaBrokers', found.brokers)
  project.provide('kafkaFolder', found.folder)
  project.provide('registryUrl', found.registryUrl)
  return found.stop
}

/** With wrong settings a process ends once it is loaded, and writes what was compiled; one that is killed writes nothing. */
async function fill(): Promise<void> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  for (const main of [
    ...ROLES.map((role) => [`${role}/main.ts`]),
    ['local/main.ts', '--nothing-of-the-kind'],
  ])
    await spawnChild(process.execPath, { args: [...NODE_FLAGS, ...main], env: { PATH, NODE_COMPILE_CACHE } })
      .exited
}

/** Tries, in this order: what the environment names; Java and Maven; containers. @throws LocalError naming the three. */
async function findKafka(env: NodeJS.ProcessEnv): Promise<TestKafka> {
  const { KAFKA_BROKERS: brokers, SCHEMA_REGISTRY_URL: registryUrl } = env
  if (brokers && registryUrl) return { brokers, registryUrl, stop: async () => {} }
  try {
    return await startJava(env)
  } catch (fault) {
    if (!(fault instanceof LocalError)) throw fault
    const { startContainers } = await import('./containers.ts') // half a second to load
    const containers = await startContainers(ensureTestJournal)
    if (containers) {
      const missing = `Java is missing, so tests that start their own brokers are skipped:\n  ${needingJava().join('\n  ')}\n`
      process.stderr.write(missing)
      return containers
    }
    throw new LocalError(fault.code, `${fault.message}\nNo container engine answers either.`, {
      cause: fault,
    })
  }
}

/** Tests do not kill this broker, so it need not send a heartbeat five times a second. That halves its idle cost. */
const CALM = {
  'broker.heartbeat.interval.ms': '2000',
  'broker.session.timeout.ms': '9000',
}

async function startJava(env: NodeJS.ProcessEnv): Promise<TestKafka> {
  const java = await findJava(env)
  const cache = await cacheFolder(env)
  const { progress } = terminalOn(process.stderr)
  const jars = await kafkaJars(cache, progress)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  // the tests start some thirty more brokers; the archive halves the start of each
  const archive = await classArchive({
    java,
    cache,
    name: 'kafka',
    classPath: join(jars, '*'),
    list: join(folder, 'kafka.classes'),
  })
  const directory = join(folder, 'kafka')
  const broker = await startBroker({
    directory,
    java: java.program,
    jars,
    jvmFlags: [...archive.flags, temporaryFiles(folder)],
    more: CALM,
  })
  const archived = archive.make().catch(() => undefined) // without an archive they start as this one did
  const registry = await startOwnRegistry(broker.brokers, folder, progress)
  await archived
  return {
    brokers: broker.brokers,
    folder: directory,
    registryUrl: registry.url,
    stop: async () => {
      // their data is removed, so they need not end in order
      await Promise.all([registry.kill(), broker.kill()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
