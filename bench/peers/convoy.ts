import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import got from 'got'
import { freePort } from '../../local/ports.ts'
import { ENDPOINTS } from '../load/scenario.ts'
import { startEndpoints } from '../receivers/start.ts'
import type { RunningLine } from '../system/rate.ts'
import { buildPeer, startServices } from './peer.ts'
import { findPrograms, type StartOptions, type Stores, startStores } from './stores.ts'

export const COMMIT = '2b60cc652e1d4babc1857280d5911817960e83e7'

const buildConvoy = () =>
  buildPeer({
    name: 'Convoy',
    repository: 'https://github.com/frain-dev/convoy',
    commit: COMMIT,
    paths: ['.'],
    async build(source, folder) {
      const { go } = await findPrograms(['go'])
      // without the dashboard, which the program embeds
      await mkdir(join(source, 'api/ui/build'), { recursive: true })
      await writeFile(join(source, 'api/ui/build/index.html'), '')
      execFileSync(go, ['build', '-o', join(folder, 'convoy'), './cmd'], { cwd: source })
    },
  })

/** Convoy always has two processes: one for its API, and one that delivers. */
const SERVICES = ['server', 'agent'] as const

/** On empty stores, with an endpoint and a subscription for each webhook, in one project. */
export async function prepareConvoy(): Promise<(options?: StartOptions) => Promise<RunningLine>> {
  const program = join(await buildConvoy(), 'convoy')
  return (options) => startConvoy(program, options)
}

async function startConvoy(program: string, { hosts = ENDPOINTS }: StartOptions = {}): Promise<RunningLine> {
  await using closing = new AsyncDisposableStack()
  const stores = closing.use(await startStores({ redisKeeps: true }))
  const endpoints = closing.adopt(await startEndpoints(hosts), (it) => it.stop())
  const [port, agentPort] = [await freePort(), await freePort()]
  const env = environment(stores, port, agentPort)
  execFileSync(program, ['migrate', 'up'], { env, stdio: 'ignore' })
  const bootstrap = ['bootstrap', '--email', 'bench@example.com', '--with-api-key']
  const printed = execFileSync(program, bootstrap, { env, encoding: 'utf8' })
  // between log lines
  const account: Account = JSON.parse(/^\{$.*?^\}$/ms.exec(printed)?.[0] ?? '')
  const { pids, replace } = await startServices(closing, SERVICES, (service) => ({
    ...{ program, args: [service], env },
    health: `http://127.0.0.1:${service === 'server' ? port : agentPort}/healthz`,
  }))
  const url = `http://127.0.0.1:${port}`
  const project = await createProject(`${url}/api/v1`, account, endpoints.urls)
  const opened = closing.move()
  return {
    ...{ target: 'convoy', url, keys: project.endpoints, endpoints },
    access: {
      path: `/api/v1/projects/${project.id}/events`,
      authorization: `Bearer ${account.api_key}`,
    },
    pids: { own: pids, stores: stores.pids },
    killDelivery: () => replace('agent'),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

type Account = { organisation_id: string; api_key: string }

const environment = ({ redisPort, postgresUrl }: Stores, port: number, agentPort: number) => ({
  PATH: process.env.PATH,
  CONVOY_ENV: 'oss',
  CONVOY_HOST: `127.0.0.1:${port}`,
  PORT: String(port),
  AGENT_PORT: String(agentPort),
  CONVOY_DB_DSN: postgresUrl,
  CONVOY_REDIS_HOST: '127.0.0.1',
  CONVOY_REDIS_PORT: String(redisPort),
  CONVOY_JWT_SECRET: 'bench-jwt-secret',
  CONVOY_JWT_REFRESH_SECRET: 'bench-jwt-refresh-secret',
  CONVOY_DISPATCHER_BLOCK_LIST: '192.0.2.0/24', // the default refuses loopback addresses
  // the default refuses more than 1,000 calls a second
  CONVOY_INSTANCE_INGEST_RATE: '1000000',
  CONVOY_API_RATE_LIMIT: '1000000',
  CONVOY_LOGGER_LEVEL: 'error',
})

async function createProject(api: string, account: Account, webhooks: readonly string[]) {
  const post = async <Created>(path: string, json: object): Promise<Created> => {
    const { data } = await got
      .post(`${api}/projects${path}`, {
        headers: { authorization: `Bearer ${account.api_key}` },
        retry: { limit: 0 },
        json,
      })
      .json<{ data: Created }>()
    return data
  }
  const { project } = await post<{ project: { uid: string } }>(`?orgID=${account.organisation_id}`, {
    name: 'bench',
    type: 'outgoing',
  })
  const id = project.uid
  const endpoints: string[] = []
  for (const [index, url] of webhooks.entries()) {
    const name = `endpoint-${index}`
    const { uid } = await post<{ uid: string }>(`/${id}/endpoints`, { name, url, http_timeout: 5 })
    await post(`/${id}/subscriptions`, { name, endpoint_id: uid })
    endpoints.push(uid)
  }
  return { id, endpoints }
}
