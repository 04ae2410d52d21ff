import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import got from 'got'
import pRetry from 'p-retry'
import { scratchFolder } from '../bench/scratch.ts'
import { type Child, spawnChild } from '../local/child-process.ts'
import { type Broker, startBroker } from '../local/kafka/broker.ts'
import { archiveFlags } from '../local/kafka/class-archive.ts'
import { cacheFolder, kafkaJars, registryApp } from '../local/kafka/downloads.ts'
import { findJava } from '../local/kafka/java.ts'
import { ensureTestJournal, startRegistry } from '../local/kafka/registry.ts'
import { freePort } from '../local/ports.ts'
import { ROLES, type Role } from '../settings/config-key.ts'
import { imageOf, type OffsetRange } from '../test/helpers/broker.ts'
import { NODE_FLAGS } from '../test/helpers/node-flags.ts'
import { until } from '../test/helpers/until.ts'
import { type Clock, openClock, removeShared } from './faketime.ts'

/** All of Sluice on one machine, each process of which can be hurt; what ends is started again, as a supervisor would. */
export type Sluice = {
  env: Readonly<Record<string, string>>
  ingest: string
  /** @param path below `/api/`. Rejects when it is refused, or nobody answers. */
  api(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    json?: object,
    ifMatch?: number,
  ): Promise<unknown>
  end(role: Role, how: 'kill' | 'end'): Promise<void>
  freeze(role: Role, forMs: number): Promise<void>
  another(role: Role, forMs: number, goes: 'kill' | 'end'): Promise<void>
  /** Sets the wall clock that the role has now and whenever it is started again; not that of `another`, nor the broker's. */
  stepClock(role: Role, seconds: number): Promise<void>
  killBroker(awayMs: number): Promise<void>
  freezeBroker(forMs: number): Promise<void>
  /** Power is lost after that time: the disk has what these topics had before it, and the rest as it was. @returns what is gone. */
  cutPower(topics: readonly string[], afterMs: number): Promise<OffsetRange[]>
  /** Resolves when each process says that it is ready. */
  ready(): Promise<void>
  /** How often a process has ended without having been told to. */
  deaths(): number
  close(): Promise<void>
}

const GRACE_MS = 20_000
/** As a supervisor waits before it starts one again. */
const AGAIN_MS = 500

/**
 * @param faketime where libfaketime is. The four processes go by it; the broker does not, and is what they are wrong against: its JVM is known to hang
 * under it, and what Kafka does when its own clock steps is Kafka's.
 */
export async function startSluice(
  settings: Readonly<Record<string, string>>,
  faketime: string | undefined,
): Promise<Sluice> {
  const folder = await scratchFolder('torture')
  const java = await findJava(process.env)
  const cache = await cacheFolder(process.env)
  const quiet = () => undefined
  let broker: Broker = await startBroker({
    directory: join(folder, 'kafka'),
    java: java.program,
    jars: await kafkaJars(cache, quiet),
    jvmFlags: await archiveFlags({ java, cache, name: 'kafka' }),
  })
  const registry = await startRegistry({
    brokers: broker.brokers,
    java: java.program,
    jar: await registryApp(cache, quiet),
    directory: folder,
    ensureJournal: ensureTestJournal,
    jvmFlags: await archiveFlags({ java, cache, name: 'registry' }),
  })
  const env = {
    KAFKA_BROKERS: broker.brokers,
    SCHEMA_REGISTRY_URL: registry.url,
    HOST: '127.0.0.1',
    CONTROL_TOKEN: randomBytes(16).toString('hex'),
    CONFIG_KEY: randomBytes(32).toString('base64'),
    EGRESS_ALLOW: '127.0.0.0/8',
    ...(await ports()),
    ...settings,
  }
  const clocks = new Map<Role | 'right', Clock>()
  if (faketime)
    for (const name of [...ROLES, 'right'] as const)
      clocks.set(name, await openClock(faketime, join(folder, `clock-${name}`)))
  const running = new Map<Role, Child>()
  /** Roles that are being hurt: their ends are meant. */
  const meant = new Set<Child>()
  let deaths = 0
  let closed = false

  function launch(role: Role, clock: Clock | undefined, more: Record<string, string> = {}): Child {
    const tied = spawnChild(process.execPath, {
      args: [...NODE_FLAGS, `${role}/main.ts`],
      env: { PATH: process.env.PATH, ...env, ...clock?.env, ...more },
      onLine: (line) => {
        if (/"level":"(error|fatal)"/.test(line)) process.stderr.write(`    ${role}: ${line.slice(0, 400)}\n`)
      },
    })
    if (clock) void tied.exited.then(() => removeShared(tied.pid))
    return tied
  }

  /** Started again whenever it ends, until all is closed. */
  function keep(role: Role): void {
    const tied = launch(role, clocks.get(role))
    running.set(role, tied)
    void tied.exited.then(async ({ code, signal }) => {
      if (closed) return
      if (!meant.delete(tied)) {
        deaths += 1
        process.stderr.write(`    ${role} has ended by itself: ${code ?? signal}\n`)
      }
      await sleep(AGAIN_MS)
      if (!closed) keep(role)
    })
  }

  const held = (role: Role): Child => {
    const tied = running.get(role)
    if (!tied) throw new Error(`${role} does not run`)
    return tied
  }

  async function freezePid(pid: number, forMs: number): Promise<void> {
    signal(pid, 'SIGSTOP')
    await sleep(forMs)
    signal(pid, 'SIGCONT')
  }

  for (const role of ROLES) keep(role)
  return {
    env,
    ingest: `http://127.0.0.1:${env.INGEST_PORT}`,
    async api(method, path, json, ifMatch) {
      const answer = await got(`http://127.0.0.1:${env.CONTROL_PORT}/api/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${env.CONTROL_TOKEN}`,
          ...(ifMatch !== undefined && { 'if-match': String(ifMatch) }),
        },
        retry: { limit: 0 },
        timeout: { request: 15_000 },
        ...(json && { json }),
      })
      return answer.body ? JSON.parse(answer.body) : undefined
    },
    async end(role, how) {
      const tied = held(role)
      meant.add(tied)
      await (how === 'kill' ? tied.kill() : tied.stop(GRACE_MS))
    },
    freeze: (role, forMs) => freezePid(held(role).pid, forMs),
    async another(role, forMs, goes) {
      const more = {
        [`${role.toUpperCase()}_PORT`]: '0',
        INGEST_METRICS_PORT: '0',
        CONTROL_METRICS_PORT: '0',
      }
      const tied = launch(role, clocks.get('right'), more)
      await sleep(forMs)
      await (goes === 'kill' ? tied.kill() : tied.stop(GRACE_MS))
    },
    async stepClock(role, seconds) {
      const clock = clocks.get(role)
      if (!clock) throw new Error('clocks cannot be stepped here')
      await clock.set(seconds)
    },
    async killBroker(awayMs) {
      await broker.kill()
      await sleep(awayMs)
      broker = await startAgain(broker)
    },
    freezeBroker: (forMs) => freezePid(broker.pid, forMs),
    async cutPower(topics, afterMs) {
      const restore = await imageOf(join(folder, 'kafka'), topics)
      await sleep(afterMs)
      await broker.kill()
      const cuts = await restore()
      broker = await startAgain(broker)
      return cuts
    },
    async ready() {
      const port = (role: Role) => env[role === 'ingest' ? 'INGEST_METRICS_PORT' : PORTS[role]]
      for (const role of ROLES)
        await until(() => got(`http://127.0.0.1:${port(role)}/readyz`, { retry: { limit: 0 } }), {
          timeout: 120_000,
          message: `${role} is ready`,
        })
    },
    deaths: () => deaths,
    async close() {
      closed = true
      await Promise.all([...running.values()].map((tied) => tied.kill()))
      await Promise.all([registry.kill(), broker.kill()])
    },
  }
}

/** One that was killed a moment ago is not there to be frozen: a busy machine is late with its faults, and they follow at once. */
function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** As a supervisor would, until it stays: on a machine that is short of CPU Kafka itself may end at its start. */
const startAgain = (broker: Broker): Promise<Broker> =>
  pRetry(() => broker.restart(), {
    retries: 5,
    minTimeout: AGAIN_MS,
    onFailedAttempt: ({ error }) => void process.stderr.write(`    broker: ${error.message}\n`),
  })

const PORTS = {
  ingest: 'INGEST_PORT',
  control: 'CONTROL_PORT',
  router: 'ROUTER_PORT',
  deliverer: 'DELIVERER_PORT',
} as const

async function ports() {
  const found: number[] = []
  for (let count = 0; count < 5; count++) found.push(await freePort('127.0.0.1', found))
  const [ingest, control, router, deliverer, metrics] = found.map(String)
  return {
    INGEST_PORT: ingest ?? '',
    CONTROL_PORT: control ?? '',
    ROUTER_PORT: router ?? '',
    DELIVERER_PORT: deliverer ?? '',
    INGEST_METRICS_PORT: metrics ?? '',
    CONTROL_METRICS_PORT: '0',
  }
}
