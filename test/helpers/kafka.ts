import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { spawnChild } from '../../local/child-process.ts'
import { LocalError } from '../../local/errors.ts'
import { startBroker } from '../../local/kafka/broker.ts'
import { archiveFlags, classArchive } from '../../local/kafka/class-archive.ts'
import { cacheFolder, kafkaJars, registryApp } from '../../local/kafka/downloads.ts'
import { findJava } from '../../local/kafka/java.ts'
import { ensureTestJournal, startRegistry } from '../../local/kafka/registry.ts'
import { terminalOn } from '../../local/terminal.ts'
import { ROLES } from '../../settings/config-key.ts'
import { NODE_FLAGS } from './node-flags.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** host:port list of the broker that this run uses: `inject('kafkaBrokers')`. */
    kafkaBrokers: string
    registryUrl: string
  }
}

export type TestKafka = { brokers: string; registryUrl: string; stop(): Promise<void> }

/** Vitest's globalSetup: one broker and one registry for the whole run, gone after it, also when it is killed. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const compileCache = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  // of the workers and all that they start: what processes run is read and compiled once
  process.env.NODE_COMPILE_CACHE = compileCache
  const [found] = await Promise.all([findKafka(process.env), fill(compileCache)])
  project.provide('kafkaBrokers', found.brokers)
  project.provide('registryUrl', found.registryUrl)
  return async () => {
    await found.stop()
    await rm(compileCache, { recursive: true, force: true })
  }
}

/** With wrong settings a process ends as soon as it is loaded, and leaves what was compiled; one that is killed leaves nothing. */
async function fill(compileCache: string): Promise<void> {
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: compileCache }
  for (const main of [
    ...ROLES.map((role) => [`${role}/main.ts`]),
    ['local/main.ts', '--nothing-of-the-kind'],
  ])
    await spawnChild(process.execPath, { args: [...NODE_FLAGS, ...main], env }).exited
}

/** In this order: what the environment names; Java and Maven; containers. @throws LocalError naming the three. */
async function findKafka(env: NodeJS.ProcessEnv): Promise<TestKafka> {
  const { KAFKA_BROKERS: brokers, SCHEMA_REGISTRY_URL: registryUrl } = env
  if (brokers && registryUrl) return { brokers, registryUrl, stop: async () => {} }
  try {
    return await startJava(env)
  } catch (fault) {
    if (!(fault instanceof LocalError)) throw fault
    const { startContainers } = await import('./containers.ts') // half a second to load
    const containers = await startContainers(ensureTestJournal)
    if (containers) return containers
    throw new LocalError(fault.code, `${fault.message}\nNo container engine answers either.`, {
      cause: fault,
    })
  }
}

/** As nobody kills it, it need not say five times a second that it is alive: by that it idles at a third of the cost. */
const CALM = {
  'broker.heartbeat.interval.ms': '2000',
  'broker.session.timeout.ms': '9000',
  'metadata.max.idle.interval.ms': '0',
}

async function startJava(env: NodeJS.ProcessEnv): Promise<TestKafka> {
  const java = await findJava(env)
  const cache = await cacheFolder(env)
  const { progress } = terminalOn(process.stderr)
  const jars = await kafkaJars(cache, progress)
  const jar = await registryApp(cache, progress)
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  // this machine's first broker; the tests start some thirty more, each then in half the time
  const archive = await classArchive({
    java,
    cache,
    name: 'kafka',
    classPath: join(jars, '*'),
    list: join(folder, 'kafka.classes'),
  })
  const broker = await startBroker({
    directory: join(folder, 'kafka'),
    java: java.program,
    jars,
    jvmFlags: archive.flags,
    more: CALM,
  })
  const archived = archive.make().catch(() => undefined) // without one they start as this one did
  const registry = await startRegistry({
    brokers: broker.brokers,
    java: java.program,
    jar,
    directory: folder,
    ensureJournal: ensureTestJournal,
    jvmFlags: await archiveFlags({ java, cache, name: 'registry' }),
  })
  await archived
  return {
    brokers: broker.brokers,
    registryUrl: registry.url,
    stop: async () => {
      // what they hold is thrown away: no need to let them end in order
      await Promise.all([registry.kill(), broker.kill()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
