import { randomUUID } from 'node:crypto'
import got from 'got'
import { readConfig } from '../config.ts'
import { type Connection, connect } from '../kafka/client.ts'
import { freePort } from '../local/ports.ts'
import { createLog } from '../process/log.ts'
import { prepareKafka } from '../schemas/prepare-kafka.ts'
import { derivedKeys, ROLES, type Role } from '../settings/config-key.ts'
import { type Env, freePorts, type Launched, launch } from './launch.ts'
import { endSessions, type Members, membersOf } from './sessions.ts'
import { until } from './until.ts'

/** All roles as operators run them, on topics with their own prefix. */
export type System = {
  env: Record<string, string>
  connection: Connection
  ingest: string
  control: string
  start(role: Role): Promise<void>
  /** SIGKILL. */
  kill(role: Role): Promise<void>
  /** Also ends its group memberships, which the next process would wait for. */
  crash(role: Role): Promise<void>
  /** SIGTERM. @returns the exit code */
  stop(role: Role): Promise<number | null>
  /** SIGSTOP. @returns a function that sends SIGCONT */
  freeze(role: Role): () => void
  /** One more process. @param more settings of this process only */
  another(role: Role, more?: Record<string, string>): Promise<Instance>
  /** What processes of a role have logged since the start of the system. */
  logged(role: Role): readonly LogLine[]
  api(
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    json?: object,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: Record<string, unknown> }>
  /** Resolves when the router uses as many destinations as exist. */
  routerFollows(): Promise<void>
  /** Creates a destination for the source `shop`. Resolves when the router uses it. */
  destination(id: string, webhooks: string[], more?: object): Promise<void>
  /** Sends one batch, by default to the source `shop`. Resolves when it is accepted. */
  send(calls: object[], writeKey?: string): Promise<void>
  close(): Promise<void>
}

/** Sees what processes receive and print: tests look for leaked secrets. */
export type Observer = {
  settings(env: Env): void
  /** A body for the control API. */
  given(body: unknown): void
  heard(text: string): void
}

export type LogLine = { level: string; msg: string } & Record<string, unknown>

export type Instance = { crash(): Promise<void>; stop(): Promise<number | null> }

export type SystemOptions = {
  brokers: string
  registryUrl: string
  settings?: Env
  /** Default: all. Must include control. Even an idle process costs CPU. */
  roles?: readonly Role[]
  observer?: Observer
}

/** Longer than a shutdown may take (SHUTDOWN_MS). */
const GRACE_MS = 30_000

export async function startSystem({
  brokers,
  registryUrl,
  settings = {},
  roles = ROLES,
  observer,
}: SystemOptions): Promise<System> {
  const env = { ...(await environment(brokers, registryUrl)), ...settings }
  const config = readConfig(env, 'control')
  const log = createLog({ role: 'start', level: 'silent' })
  const connection = connect(config.kafka, { clientId: 'test', log })
  const processes = createProcesses({ env, connection, ...(observer && { observer }) })
  const calls = createCalls(env, observer)
  // topics and schemas are made while the processes load: four registrations at once would collide. A system with its
  // own broker starts as it does for operators.
  const prepared = settings.KAFKA_BROKERS ? undefined : prepareKafka(connection, config, () => undefined)
  await Promise.all([prepared, ...roles.map(processes.start)])
  await calls.api('post', 'sources', { id: 'shop', name: 'Shop', writeKey: 'shop-write-key' })
  return { env, connection, ...processes, ...calls }
}

async function environment(brokers: string, registryUrl: string): Promise<Record<string, string>> {
  return {
    KAFKA_BROKERS: brokers,
    SCHEMA_REGISTRY_URL: registryUrl,
    TOPIC_PREFIX: `t${randomUUID().slice(0, 8)}.`,
    HOST: '127.0.0.1',
    ...(await freePorts()),
    CONTROL_TOKEN: 'test-admin-token-0123456789',
    CONFIG_KEY: Buffer.alloc(32, 'key 7 of the tests').toString('base64'),
    EGRESS_ALLOW: '127.0.0.0/8,::1/128',
    PARTITIONS: '4',
    // a receiver on a busy machine answers late; a few timeouts would end in dead letters
    RESPONSE_TIMEOUT: '30s',
    RETRY_LADDER: '100ms,200ms,400ms',
    LOG_LEVEL: 'info',
  }
}

type Parts = { env: Env; connection: Connection; observer?: Observer }
type Processes = Pick<System, 'start' | 'kill' | 'crash' | 'stop' | 'freeze' | 'another' | 'logged' | 'close'>

function createProcesses({ env, connection, observer }: Parts): Processes {
  const current = new Map<Role, Launched>()
  const { all, lines, launchReady } = createLauncher({ env, ...(observer && { observer }) })

  function running(role: Role): Launched {
    const launched = current.get(role)
    if (!launched) throw new Error(`${role} was not started`)
    return launched
  }

  async function crash(launched: Launched, others: Members = new Map()): Promise<void> {
    await launched.kill()
    const members = [...(await membersOf(connection, launched.role))].filter(([id]) => !others.has(id))
    await endSessions(env.KAFKA_BROKERS?.split(',')[0] ?? '', new Map(members))
  }

  return {
    start: async (role) => void current.set(role, await launchReady(role)),
    kill: async (role) => void (await running(role).kill()),
    crash: (role) => crash(running(role)),
    stop: async (role) => (await running(role).stop(GRACE_MS)).code,
    freeze(role) {
      const { pid } = running(role)
      process.kill(pid, 'SIGSTOP')
      return () => void process.kill(pid, 'SIGCONT')
    },
    async another(role, more = {}) {
      const others = await membersOf(connection, role)
      const port = String(await freePort('127.0.0.1'))
      const ports = { CONTROL_METRICS_PORT: '0', [`${role.toUpperCase()}_PORT`]: port }
      const launched = await launchReady(role, { ...ports, ...more })
      return {
        crash: () => crash(launched, others),
        stop: async () => (await launched.stop(GRACE_MS)).code,
      }
    },
    logged: (role) =>
      (lines.get(role) ?? []).filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)),
    async close() {
      // an ended or frozen process has no metrics
      if (observer)
        for (const launched of current.values()) observer.heard(await launched.metrics().catch(() => ''))
      await Promise.all(all.map((launched) => launched.kill()))
    },
  }
}

function createLauncher({ env, observer }: Omit<Parts, 'connection'>) {
  const all: Launched[] = []
  const lines = new Map<Role, string[]>(ROLES.map((role) => [role, []]))

  async function launchReady(role: Role, more: Env = {}): Promise<Launched> {
    const roleEnv = { ...env, ...leastKey(role, env), ...more }
    observer?.settings(roleEnv)
    const launched = launch(role, roleEnv, (line) => {
      lines.get(role)?.push(line)
      observer?.heard(line)
    })
    all.push(launched)
    // with five test workers on two cores, four processes took more than 30 s to start
    await launched.ready(90_000)
    return launched
  }

  return { all, lines, launchReady }
}

/** As `sluice keys` derives it: only control has the full key. */
function leastKey(role: Role, { CONFIG_KEY = '' }: Env): { CONFIG_KEY?: string } {
  if (role === 'control') return {}
  return { CONFIG_KEY: derivedKeys(role, Buffer.from(CONFIG_KEY, 'base64')) }
}

type Calls = Pick<System, 'ingest' | 'control' | 'api' | 'routerFollows' | 'destination' | 'send'>

function createCalls(env: Env, observer: Observer | undefined): Calls {
  const ingest = `http://127.0.0.1:${env.INGEST_PORT}`
  const control = `http://127.0.0.1:${env.CONTROL_PORT}`
  const api: System['api'] = async (method, path, json, headers) => {
    observer?.given(json)
    const authorization = `Bearer ${env.CONTROL_TOKEN}`
    const response = await got[method](`${control}/api/${path}`, {
      headers: { authorization, ...headers },
      throwHttpErrors: false,
      ...(json && { json }),
    })
    return { status: response.statusCode, body: response.body ? JSON.parse(response.body) : {} }
  }

  /** Other processes apply settings within a second. */
  async function routerFollows(): Promise<void> {
    const metrics = () => got(`http://127.0.0.1:${env.ROUTER_PORT}/metrics`, { retry: { limit: 0 } }).text()
    const { items } = (await api('get', 'destinations?limit=1000')).body as { items: unknown[] }
    await until(async () => (await metrics()).includes(`sluice_router_destinations ${items.length}\n`))
  }

  return {
    ...{ ingest, control, api, routerFollows },
    async destination(id, webhooks, more = {}) {
      const json = { id, name: id, sourceIds: ['shop'], webhooks: webhooks.map((url) => ({ url })), ...more }
      // also before: a destination removed a moment ago would be counted instead of this one
      await routerFollows()
      const { status, body } = await api('post', 'destinations', json)
      if (status !== 201) throw new Error(`destination ${id}: ${JSON.stringify(body)}`)
      await routerFollows()
    },
    async send(calls, writeKey = 'shop-write-key') {
      const post = () =>
        got.post(`${ingest}/v1/batch`, { json: { batch: calls }, username: writeKey, retry: { limit: 0 } })
      // retries until accepted, like client libraries
      await until(async () => (await post()).statusCode === 200)
    },
  }
}
