import { randomBytes } from 'node:crypto'
import { copyFile, cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import got from 'got'
import pRetry from 'p-retry'
import { startOwnBroker } from '../harness/kafka/broker.ts'
import type { Gone } from '../harness/kafka/disk.ts'
import { startOwnRegistry } from '../harness/kafka/stack.ts'
import { type Env, freePorts } from '../harness/launch.ts'
import { scratchFolder } from '../harness/scratch.ts'
import { until } from '../harness/until.ts'
import type { Role } from '../settings/config-key.ts'
import type { Clock } from './faketime.ts'
import { type ClockName, openClocks, Processes, READY_MS } from './processes.ts'

/** A whole Sluice on one machine. Processes that end are restarted, as by a supervisor. */
export type Sluice = {
  env: Readonly<Record<string, string>>
  ingest: string
  /** @param path below `/api/`. @throws when control refuses or does not answer */
  api(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    json?: object,
    ifMatch?: number,
  ): Promise<unknown>
  end(role: Role, how: 'kill' | 'end'): Promise<void>
  freeze(role: Role, forMs: number): Promise<void>
  /** One more process for a while. */
  another(role: Role, forMs: number, goes: 'kill' | 'end'): Promise<void>
  /** Also for restarted processes, but not for `another` or the broker. */
  stepClock(role: Role, seconds: number): Promise<void>
  killBroker(awayMs: number): Promise<void>
  freezeBroker(forMs: number): Promise<void>
  killRegistry(awayMs: number): Promise<void>
  /**
   * Restarts ingest and the deliverer with a limit that their topics exceed, and without it this long after calls are
   * refused.
   */
  fillStorage(forMs: number): Promise<void>
  /** Cuts the power after this time. What these topics got meanwhile is lost. @returns the loss */
  cutPower(topics: readonly string[], afterMs: number): Promise<Gone[]>
  ready(): Promise<void>
  /** How often a process ended on its own. */
  deaths(): number
  /** Copies the logs of the processes and of the broker into this folder. */
  saveLogs(folder: string): Promise<void>
  close(): Promise<void>
}

const LIMITED = ['ingest', 'deliverer'] as const

/**
 * @param faketime path of libfaketime, for the four processes. The broker has the real time: JVMs may hang under it.
 */
export async function startSluice(settings: Env, faketime: string | undefined): Promise<Sluice> {
  const folder = await scratchFolder('torture')
  const broker = await startOwnBroker({ more: { 'compression.type': 'lz4' } })
  let registry = await startOwnRegistry(broker.now.brokers, folder)
  const env: Record<string, string> = {
    ...environment({ brokers: broker.now.brokers, registryUrl: registry.url }),
    ...(await freePorts()),
    ...settings,
  }
  const clocks = faketime ? await openClocks(faketime, folder) : new Map<ClockName, Clock>()
  const logs = join(folder, 'logs')
  await mkdir(logs)
  const processes = new Processes(env, { clocks, logs })
  return {
    ...{ env, ingest: `http://127.0.0.1:${env.INGEST_PORT}` },
    api: apiOf(env),
    end: (role, how) => processes.end(role, how),
    freeze: (role, forMs) => freezePid(processes.running(role).pid, forMs),
    another: (role, forMs, goes) => processes.another(role, forMs, goes),
    async stepClock(role, seconds) {
      const clock = clocks.get(role)
      if (!clock) throw new Error('clocks cannot be changed here')
      await clock.set(seconds)
    },
    killBroker: (awayMs) => broker.restart('kill', awayMs),
    freezeBroker: (forMs) => freezePid(broker.now.pid, forMs),
    async killRegistry(awayMs) {
      await registry.kill()
      await sleep(awayMs)
      registry = await pRetry(() => registry.restart(), { retries: 5, minTimeout: 500 })
    },
    fillStorage: (forMs) => fillStorage(processes, forMs),
    async cutPower(topics, afterMs) {
      const cut = await broker.diskImage(topics)
      await sleep(afterMs)
      return cut()
    },
    ready: () => processes.ready(),
    deaths: () => processes.deaths(),
    async saveLogs(to) {
      await cp(logs, to, { recursive: true })
      await copyFile(broker.now.logFile, join(to, 'kafka.log'))
    },
    async close() {
      await processes.close()
      await registry.kill()
      await broker.close()
    },
  }
}

async function fillStorage(processes: Processes, forMs: number): Promise<void> {
  await Promise.all(LIMITED.map((role) => processes.restartWith(role, { STORAGE_LIMIT: '1MB' })))
  const refuses = async () => /^sluice_storage_full 1$/m.test(await processes.running('ingest').metrics())
  await until(refuses, { timeout: READY_MS, message: 'ingest takes the storage for full' })
  await sleep(forMs)
  await Promise.all(LIMITED.map((role) => processes.restartWith(role, {})))
}

/** Settings with new secrets. */
export const environment = ({ brokers, registryUrl }: { brokers: string; registryUrl: string }) => ({
  KAFKA_BROKERS: brokers,
  SCHEMA_REGISTRY_URL: registryUrl,
  HOST: '127.0.0.1',
  CONTROL_TOKEN: randomBytes(16).toString('hex'),
  CONFIG_KEY: randomBytes(32).toString('base64'),
  EGRESS_ALLOW: '127.0.0.0/8',
})

export const apiOf =
  (env: Env): Sluice['api'] =>
  async (method, path, json, ifMatch) => {
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
  }

async function freezePid(pid: number, forMs: number): Promise<void> {
  signal(pid, 'SIGSTOP')
  await sleep(forMs)
  signal(pid, 'SIGCONT')
}

/** It may be gone: on a busy machine, faults are late and follow each other at once. */
function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
