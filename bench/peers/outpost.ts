import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import got from 'got'
import { until } from '../../harness/until.ts'
import { cacheFolder } from '../../local/kafka/downloads.ts'
import { freePort } from '../../local/ports.ts'
import { type Child, spawnChild } from '../../local/processes/child-process.ts'
import { OUTPOST_KEY, OUTPOST_TOPIC } from '../load/calls.ts'
import { ENDPOINTS } from '../load/scenario.ts'
import { type Hosts, startEndpoints } from '../receivers/start.ts'
import type { RunningLine } from '../system/rate.ts'
import { findPrograms, type Stores, startStores } from './stores.ts'

const REPOSITORY = 'https://github.com/hookdeck/outpost'
export const COMMIT = 'f67ae011b287ff2588cb06699d808a69bba6ab4d'
/** Concurrent deliveries. The default is 1; 100 was the best number that we tried. */
const SLOTS = 100

/** Builds Outpost once, from `OUTPOST_SOURCE` (a clone) or from GitHub. @returns the programs' folder */
export async function buildOutpost(): Promise<string> {
  const folder = join(await cacheFolder(process.env), `outpost-${COMMIT.slice(0, 12)}`)
  if (existsSync(folder)) return folder
  const { go } = await findPrograms(['go'])
  const building = `${folder}.building`
  await rm(building, { recursive: true, force: true })
  await mkdir(building, { recursive: true })
  const source = join(building, 'source')
  process.stderr.write('building Outpost (first run only)\n')
  execFileSync('git', ['clone', '--quiet', '--no-checkout', process.env.OUTPOST_SOURCE ?? REPOSITORY, source])
  const paths = ['cmd', 'internal', 'go.mod', 'go.sum']
  execFileSync('git', ['-C', source, 'checkout', '--quiet', COMMIT, '--', ...paths])
  for (const program of ['outpost', 'outpost-server'])
    execFileSync(go, ['build', '-o', join(building, program), `./cmd/${program}`], { cwd: source })
  await rm(source, { recursive: true })
  await rename(building, folder)
  return folder
}

type Service = 'all' | 'api' | 'delivery' | 'log'

/**
 * Starts Outpost on empty stores, with a tenant and a webhook for each endpoint. `isSplit`: a process for each service,
 * so that one can be killed. By default one process runs all, as out of the box.
 */
export async function startOutpost(
  folder: string,
  { hosts = ENDPOINTS, isSplit = false }: { hosts?: number | Hosts; isSplit?: boolean } = {},
): Promise<RunningLine> {
  await using closing = new AsyncDisposableStack()
  const stores = closing.use(await startStores())
  const endpoints = closing.adopt(await startEndpoints(hosts), (it) => it.stop())
  const port = await freePort()
  const env = environment(stores, port)
  execFileSync(join(folder, 'outpost'), ['migrate', 'apply', '--yes'], { env, stdio: 'ignore' })
  const children = new Map<Service, Child>()
  const start = async (service: Service) => {
    const own = service === 'delivery' || service === 'log' ? String(await freePort()) : String(port)
    const settings = { ...env, ...(service !== 'all' && { SERVICE: service }), API_PORT: own, PORT: own }
    children.set(service, spawnChild(join(folder, 'outpost-server'), { args: [], env: settings }))
    await until(() => isHealthy(own), { timeout: 60_000, message: `Outpost's ${service} answers` })
  }
  closing.defer(async () => void (await Promise.all([...children.values()].map((it) => it.kill()))))
  for (const service of isSplit ? (['api', 'delivery', 'log'] as const) : (['all'] as const))
    await start(service)
  const url = `http://127.0.0.1:${port}`
  const keys = endpoints.urls.map((_, index) => `tenant-${index}`)
  for (const [index, webhook] of endpoints.urls.entries()) await createTenant(url, keys[index] ?? '', webhook)
  const opened = closing.move()
  return {
    ...{ target: 'outpost', url, keys, endpoints },
    pids: { own: [...children.values()].map(({ pid }) => pid), stores: stores.pids },
    async killDelivery() {
      await children.get('delivery')?.kill()
      await start('delivery')
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const environment = ({ redisPort, postgresUrl, rabbitUrl }: Stores, port: number) => ({
  PATH: process.env.PATH,
  API_KEY: OUTPOST_KEY,
  API_JWT_SECRET: 'bench-jwt-secret',
  AES_ENCRYPTION_SECRET: 'bench-encryption-secret-32-bytes',
  TOPICS: OUTPOST_TOPIC,
  REDIS_HOST: '127.0.0.1',
  REDIS_PORT: String(redisPort),
  POSTGRES_URL: postgresUrl,
  RABBITMQ_SERVER_URL: rabbitUrl,
  DELIVERY_MAX_CONCURRENCY: String(SLOTS),
  DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME: 'x-message-id', // the receivers read it
  PORTAL_REFERER_URL: `http://127.0.0.1:${port}`,
  LOG_LEVEL: 'warn',
  GIN_MODE: 'release',
  DISABLE_TELEMETRY: 'true',
})

const isHealthy = async (port: string) => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok

async function createTenant(url: string, tenant: string, webhook: string): Promise<void> {
  const options = { headers: { authorization: `Bearer ${OUTPOST_KEY}` }, retry: { limit: 0 } } as const
  await got.put(`${url}/api/v1/tenants/${tenant}`, { ...options, json: {} })
  await got.post(`${url}/api/v1/tenants/${tenant}/destinations`, {
    ...options,
    json: { type: 'webhook', topics: [OUTPOST_TOPIC], config: { url: webhook } },
  })
}
