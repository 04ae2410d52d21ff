import { execFileSync } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import got from 'got'
import { freePort } from '../../local/ports.ts'
import { ENDPOINTS } from '../load/scenario.ts'
import { startEndpoints } from '../receivers/start.ts'
import type { RunningLine } from '../system/rate.ts'
import { buildPeer, startServices } from './peer.ts'
import { findPrograms, type StartOptions, type Stores, startStores } from './stores.ts'

export const COMMIT = '4fc0cfb8b426c87ef7e2b937e7d896a71d456a47'

const buildSvix = () =>
  buildPeer({
    name: 'Svix',
    repository: 'https://github.com/svix/svix-webhooks',
    commit: COMMIT,
    paths: ['server'],
    async build(source, folder) {
      const { cargo } = await findPrograms(['cargo'])
      const cwd = join(source, 'server')
      execFileSync(cargo, ['build', '--quiet', '--release', '--locked', '--package', 'svix-server'], { cwd })
      await copyFile(join(cwd, 'target/release/svix-server'), join(folder, 'svix-server'))
    },
  })

type Service = 'all' | 'api' | 'worker'

/**
 * On empty stores, with an application and a webhook for each endpoint. `isSplit`: a process for the API and another for
 * deliveries. By default one process does both, as out of the box.
 */
export async function prepareSvix(): Promise<(options?: StartOptions) => Promise<RunningLine>> {
  const program = join(await buildSvix(), 'svix-server')
  return (options) => startSvix(program, options)
}

async function startSvix(
  program: string,
  { hosts = ENDPOINTS, isSplit = false }: StartOptions = {},
): Promise<RunningLine> {
  await using closing = new AsyncDisposableStack()
  const stores = closing.use(await startStores({ redisKeeps: true }))
  const endpoints = closing.adopt(await startEndpoints(hosts), (it) => it.stop())
  const env = environment(stores)
  execFileSync(program, ['migrate'], { env, stdio: 'ignore' })
  const printed = execFileSync(program, ['jwt', 'generate'], { env, encoding: 'utf8' })
  const authorization = `Bearer ${printed.trim().split(' ').at(-1)}`
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const services: readonly Service[] = isSplit ? ['api', 'worker'] : ['all']
  const { pids, replace } = await startServices(closing, services, (service) => ({
    program,
    env: {
      ...env,
      SVIX_LISTEN_ADDRESS: `127.0.0.1:${port}`,
      SVIX_API_ENABLED: String(service !== 'worker'),
      SVIX_WORKER_ENABLED: String(service !== 'api'),
    },
    // a worker has no address, and starts within a second
    ...(service !== 'worker' && { health: `${url}/api/v1/health` }),
  }))
  const keys = endpoints.urls.map((_, index) => `app-${index}`)
  for (const [index, webhook] of endpoints.urls.entries())
    await createApplication(`${url}/api/v1`, authorization, { uid: keys[index] ?? '', webhook })
  const opened = closing.move()
  return {
    ...{ target: 'svix', url, keys, endpoints },
    // its answer does not repeat the call
    access: { path: '/api/v1/app/{key}/msg?with_content=false', authorization },
    pids: { own: pids, stores: stores.pids },
    killDelivery: () => replace('worker'),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const environment = ({ redisPort, postgresUrl }: Stores) => ({
  PATH: process.env.PATH,
  SVIX_JWT_SECRET: 'bench-jwt-secret-of-thirty-two-bytes',
  SVIX_DB_DSN: postgresUrl,
  SVIX_REDIS_DSN: `redis://127.0.0.1:${redisPort}`,
  SVIX_WHITELIST_SUBNETS: '[127.0.0.0/8]',
  RUST_LOG: 'warn',
  SVIX_WORKER_REQUEST_TIMEOUT: '5', // like Sluice and Outpost
})

type Application = { uid: string; webhook: string }

async function createApplication(api: string, authorization: string, { uid, webhook }: Application) {
  const options = { headers: { authorization }, retry: { limit: 0 } } as const
  await got.post(`${api}/app`, { ...options, json: { name: uid, uid } })
  await got.post(`${api}/app/${uid}/endpoint`, { ...options, json: { url: webhook } })
}
