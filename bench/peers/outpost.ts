import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import got from 'got'
import { freePort } from '../../local/ports.ts'
import { EVENT_TYPE } from '../load/calls.ts'
import { ENDPOINTS } from '../load/scenario.ts'
import { startEndpoints } from '../receivers/start.ts'
import type { RunningLine } from '../system/rate.ts'
import { buildPeer, startServices } from './peer.ts'
import { findPrograms, type StartOptions, type Stores, startRabbit, startStores } from './stores.ts'

export const COMMIT = 'f67ae011b287ff2588cb06699d808a69bba6ab4d'
/** Concurrent deliveries. The default is 1; 100 was the best number that we tried. */
const SLOTS = 100
const KEY = 'bench-outpost-api-key'

const buildOutpost = () =>
  buildPeer({
    name: 'Outpost',
    repository: 'https://github.com/hookdeck/outpost',
    commit: COMMIT,
    paths: ['cmd', 'internal', 'go.mod', 'go.sum'],
    async build(source, folder) {
      const { go } = await findPrograms(['go'])
      for (const program of ['outpost', 'outpost-server'])
        execFileSync(go, ['build', '-o', join(folder, program), `./cmd/${program}`], { cwd: source })
    },
  })

type Service = 'all' | 'api' | 'delivery' | 'log'

/**
 * On empty stores, with a tenant and a webhook for each endpoint. `isSplit`: a process for each service. By default one
 * process runs all, as out of the box.
 */
export async function prepareOutpost(): Promise<(options?: StartOptions) => Promise<RunningLine>> {
  const folder = await buildOutpost()
  return (options) => startOutpost(folder, options)
}

async function startOutpost(
  folder: string,
  { hosts = ENDPOINTS, isSplit = false }: StartOptions = {},
): Promise<RunningLine> {
  await using closing = new AsyncDisposableStack()
  const stores = closing.use(await startStores())
  const rabbit = closing.use(await startRabbit())
  const endpoints = closing.adopt(await startEndpoints(hosts), (it) => it.stop())
  const port = await freePort()
  const env = environment(stores, rabbit.url, port)
  execFileSync(join(folder, 'outpost'), ['migrate', 'apply', '--yes'], { env, stdio: 'ignore' })
  const services: readonly Service[] = isSplit ? ['api', 'delivery', 'log'] : ['all']
  const { pids, replace } = await startServices(closing, services, async (service) => {
    const own = service === 'delivery' || service === 'log' ? String(await freePort()) : String(port)
    return {
      program: join(folder, 'outpost-server'),
      env: { ...env, ...(service !== 'all' && { SERVICE: service }), API_PORT: own, PORT: own },
      health: `http://127.0.0.1:${own}/healthz`,
    }
  })
  const url = `http://127.0.0.1:${port}`
  const keys = endpoints.urls.map((_, index) => `tenant-${index}`)
  for (const [index, webhook] of endpoints.urls.entries()) await createTenant(url, keys[index] ?? '', webhook)
  const opened = closing.move()
  return {
    ...{ target: 'outpost', url, keys, endpoints },
    access: { path: '/api/v1/publish', authorization: `Bearer ${KEY}` },
    pids: { own: pids, stores: [...stores.pids, ...rabbit.pids] },
    killDelivery: () => replace('delivery'),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const environment = ({ redisPort, postgresUrl }: Stores, rabbitUrl: string, port: number) => ({
  PATH: process.env.PATH,
  API_KEY: KEY,
  API_JWT_SECRET: 'bench-jwt-secret',
  AES_ENCRYPTION_SECRET: 'bench-encryption-secret-32-bytes',
  TOPICS: EVENT_TYPE,
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

async function createTenant(url: string, tenant: string, webhook: string): Promise<void> {
  const options = { headers: { authorization: `Bearer ${KEY}` }, retry: { limit: 0 } } as const
  await got.put(`${url}/api/v1/tenants/${tenant}`, { ...options, json: {} })
  await got.post(`${url}/api/v1/tenants/${tenant}/destinations`, {
    ...options,
    json: { type: 'webhook', topics: [EVENT_TYPE], config: { url: webhook } },
  })
}
