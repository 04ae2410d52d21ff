import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import got from 'got'
import { inject } from 'vitest'
import { readConfig } from '../../config.ts'
import { type Connection, connect } from '../../kafka/client.ts'
import { type Child, spawnChild } from '../../local/child-process.ts'
import { freePort } from '../../local/ports.ts'
import { createLog } from '../../process/log.ts'
import { derivedKeys, ROLES, type Role } from '../../settings/config-key.ts'
import { closing } from './cluster.ts'
import { NODE_FLAGS } from './node-flags.ts'
import { planted } from './planted.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { endSessions, type Members, membersOf } from './sessions.ts'
import { until } from './until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The processes as operators run them, on a prefix of their own. */
export type System = {
  env: Record<string, string>
  connection: Connection
  ingest: string
  control: string
  start(role: Role): Promise<void>
  kill(role: Role): Promise<void>
  /** As `kill`, with its memberships of groups ended at once: what is started next need not wait for its sessions to run out. */
  crash(role: Role): Promise<void>
  /** SIGTERM; @returns the exit code. */
  stop(role: Role): Promise<number | null>
  /** SIGSTOP. @returns SIGCONT. */
  freeze(role: Role): () => void
  /** One more process of a role, beside the first. @param more settings of this one alone. */
  another(role: Role, more?: Record<string, string>): Promise<Instance>
  /** The lines that processes of a role have logged since they were started. */
  said(role: Role): readonly Said[]
  /** Makes a destination for the source `shop`, which exists. */
  destination(id: string, webhooks: string[], more?: object): Promise<void>
  api(
    method: 'get' | 'post' | 'put' | 'delete',
    path: string,
    json?: object,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: Record<string, unknown> }>
  close(): Promise<void>
  /** Sends calls as one batch, to the source `shop` unless told another's write key; resolves when they are accepted. */
  send(calls: object[], writeKey?: string): Promise<void>
}

/** As `sluice keys` derives it: no process but control has the whole key. */
function leastKey(role: Role, { CONFIG_KEY = '' }: Record<string, string>): { CONFIG_KEY?: string } {
  if (role === 'control') return {}
  return { CONFIG_KEY: derivedKeys(role, Buffer.from(CONFIG_KEY, 'base64')) }
}

/** A line of a process's log. */
export type Said = { level: string; msg: string } & Record<string, unknown>

export type Instance = { crash(): Promise<void>; stop(): Promise<number | null> }

/** @param roles those that the tests are about, control among them: one that idles costs as much as one that works. */
export async function startSystem(
  settings: Record<string, string> = {},
  roles: readonly Role[] = ROLES,
): Promise<System> {
  const env: Record<string, string> = { ...(await environment()), ...settings }
  const config = readConfig(env, 'control')
  const connection = connect(config.kafka, {
    clientId: 'test',
    log: createLog({ role: 'start', level: 'silent' }),
  })
  const started: Child[] = []
  const children = new Map<Role, Child>()
  const saidBy = new Map<Role, string[]>()

  const start = async (role: Role) => void children.set(role, await launch(role))

  /** @param more settings of this one alone. */
  async function launch(role: Role, more: Record<string, string> = {}): Promise<Child> {
    const said: string[] = []
    const all = saidBy.get(role) ?? []
    saidBy.set(role, all)
    const settings: Record<string, string> = { ...env, ...leastKey(role, env), ...more }
    planted.settings(settings)
    const child = spawnChild(process.execPath, {
      args: [...NODE_FLAGS, `${role}/main.ts`],
      cwd: root,
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...settings },
      onLine: (line) => {
        said.push(line)
        all.push(line)
        planted.heard(line)
      },
    })
    started.push(child)
    const url = `http://127.0.0.1:${settings[`${role.toUpperCase()}_PORT`]}/readyz`
    const ready = async () =>
      (await got(url, { throwHttpErrors: false, retry: { limit: 0 } })).statusCode === 200
    await until(ready, {
      // four that start at once, beside five other workers on two cores, took more than 30 s
      timeout: 90_000,
      message: () => `${role} is ready; it said:\n${said.slice(-20).join('\n')}`,
    })
    return child
  }

  async function crash(role: Role, child: Child, others: Members = new Map()): Promise<void> {
    await child.kill()
    const members = [...(await membersOf(connection, role))].filter(([member]) => !others.has(member))
    await endSessions(config.kafka.brokers[0] ?? '', new Map(members))
  }

  async function another(role: Role, more: Record<string, string> = {}): Promise<Instance> {
    const others = await membersOf(connection, role)
    const port = String(await freePort('127.0.0.1'))
    const child = await launch(role, {
      CONTROL_METRICS_PORT: '0',
      ...more,
      [`${role.toUpperCase()}_PORT`]: port,
    })
    return { crash: () => crash(role, child, others), stop: async () => (await child.stop(15_000)).code }
  }

  const held = (role: Role) => {
    const child = children.get(role)
    if (!child) throw new Error(`${role} was not started`)
    return child
  }

  /** Empty where the process has ended, or is frozen. */
  const metrics = (role: Role) => {
    const port = env[role === 'ingest' ? 'INGEST_METRICS_PORT' : `${role.toUpperCase()}_PORT`]
    const options = { retry: { limit: 0 }, timeout: { request: 2_000 } }
    return got(`http://127.0.0.1:${port}/metrics`, options)
      .text()
      .catch(() => '')
  }

  const ingest = `http://127.0.0.1:${env.INGEST_PORT}`
  const control = `http://127.0.0.1:${env.CONTROL_PORT}`
  const api: System['api'] = async (method, path, json, headers) => {
    planted.given(json)
    const authorization = `Bearer ${env.CONTROL_TOKEN}`
    const response = await got[method](`${control}/api/${path}`, {
      headers: { authorization, ...headers },
      throwHttpErrors: false,
      ...(json && { json }),
    })
    return { status: response.statusCode, body: response.body ? JSON.parse(response.body) : {} }
  }
  /** Other processes follow the settings within a second. */
  async function routerFollows(): Promise<void> {
    const metrics = () => got(`http://127.0.0.1:${env.ROUTER_PORT}/metrics`, { retry: { limit: 0 } }).text()
    const { items } = (await api('get', 'destinations?limit=1000')).body as { items: unknown[] }
    await until(async () => (await metrics()).includes(`sluice_router_destinations ${items.length}\n`))
  }

  await Promise.all(roles.map(start))
  await api('post', 'sources', { id: 'shop', name: 'Shop', writeKey: 'shop-write-key' })
  return {
    env,
    connection,
    ingest,
    control,
    start,
    kill: async (role) => void (await held(role).kill()),
    crash: (role) => crash(role, held(role)),
    stop: async (role) => (await held(role).stop(15_000)).code,
    freeze(role) {
      const { pid } = held(role)
      process.kill(pid, 'SIGSTOP')
      return () => void process.kill(pid, 'SIGCONT')
    },
    another,
    said: (role) =>
      (saidBy.get(role) ?? []).filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)),
    async close() {
      await Promise.all(ROLES.map(async (role) => planted.heard(await metrics(role))))
      await Promise.all(started.map((child) => child.kill()))
    },
    api,
    async destination(id, webhooks, more = {}) {
      const json = { id, name: id, sourceIds: ['shop'], webhooks: webhooks.map((url) => ({ url })), ...more }
      // one that was removed a moment ago would be counted in place of this one
      await routerFollows()
      const { status, body } = await api('post', 'destinations', json)
      if (status !== 201) throw new Error(`destination ${id}: ${JSON.stringify(body)}`)
      // what is sent before that is not for it
      await routerFollows()
    },
    async send(calls, writeKey = 'shop-write-key') {
      const post = () =>
        got.post(`${ingest}/v1/batch`, { json: { batch: calls }, username: writeKey, retry: { limit: 0 } })
      // as client libraries do, until it is accepted
      await until(async () => (await post()).statusCode === 200, { timeout: 30_000 })
    },
  }
}

async function environment(): Promise<Record<string, string>> {
  const ports: number[] = []
  for (let index = 0; index < 6; index++) ports.push(await freePort('127.0.0.1', ports))
  const [ingest, control, router, deliverer, metrics, controlMetrics] = ports.map(String)
  return {
    KAFKA_BROKERS: inject('kafkaBrokers'),
    SCHEMA_REGISTRY_URL: inject('registryUrl'),
    TOPIC_PREFIX: `t${randomUUID().slice(0, 8)}.`,
    HOST: '127.0.0.1',
    INGEST_PORT: ingest ?? '',
    CONTROL_PORT: control ?? '',
    ROUTER_PORT: router ?? '',
    DELIVERER_PORT: deliverer ?? '',
    INGEST_METRICS_PORT: metrics ?? '',
    CONTROL_METRICS_PORT: controlMetrics ?? '',
    CONTROL_TOKEN: 'test-admin-token-0123456789',
    CONFIG_KEY: Buffer.alloc(32, 'key 7 of the tests').toString('base64'),
    EGRESS_ALLOW: '127.0.0.0/8,::1/128',
    PARTITIONS: '4',
    RETRY_LADDER: '100ms,200ms,400ms',
    LOG_LEVEL: 'info',
  }
}

/** A receiver that is closed at the end of the test. */
export const aReceiver = async (): Promise<Receiver> => closing(await startReceiver())
