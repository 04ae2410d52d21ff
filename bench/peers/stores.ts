import { execFileSync } from 'node:child_process'
import { accessSync, chownSync, constants, mkdirSync } from 'node:fs'
import { chmod, readdir } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { userInfo } from 'node:os'
import { delimiter, join } from 'node:path'
import { scratchFolder } from '../../harness/scratch.ts'
import { until } from '../../harness/until.ts'
import { freePort } from '../../local/ports.ts'
import { type Child, spawnChild } from '../../local/processes/child-process.ts'
import type { Hosts } from '../receivers/start.ts'

/** How peers start. `hosts`: of the webhooks. `isSplit`: deliveries have a process of their own. */
export type StartOptions = { hosts?: number | Hosts; isSplit?: boolean }

/** With default settings, in a separate folder. */
export type Stores = { redisPort: number; postgresUrl: string; pids: readonly number[] } & AsyncDisposable

/** Debian's folder. For root, the program on the PATH switches to a user that cannot write to our folders. */
const RABBITMQ = '/usr/lib/rabbitmq/bin'

/** @returns the programs' paths. @throws with all that are missing, and how to install them */
export async function findPrograms<Name extends string>(
  names: readonly Name[],
): Promise<Record<Name, string>> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => [])
  const folders = [
    RABBITMQ,
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map((version) => `/usr/lib/postgresql/${version}/bin`),
  ]
  const pathOf = (name: string) => folders.map((folder) => join(folder, name)).find(isProgram)
  const missing = names.filter((name) => pathOf(name) === undefined)
  if (missing.length > 0)
    throw new Error(
      `these programs are missing: ${missing.join(', ')}. Debian has them in redis-server, postgresql, rabbitmq-server and golang; cargo comes with Rust`,
    )
  // checked above
  return Object.fromEntries(names.map((name) => [name, pathOf(name)])) as Record<Name, string>
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Redis and PostgreSQL. `redisKeeps`: what Redis has survives its end, for peers whose queue it is. */
export async function startStores({ redisKeeps = false } = {}): Promise<Stores> {
  const programs = await findPrograms(['redis-server', 'initdb', 'postgres', 'psql', 'setpriv'])
  await using closing = new AsyncDisposableStack()
  const folder = await scratchFolder('peers')
  await chmod(folder, 0o755) // for the user that runs PostgreSQL
  const redis = await startRedis(programs['redis-server'], join(folder, 'redis'), redisKeeps)
  closing.defer(async () => void (await redis.child.kill()))
  const postgres = await startPostgres(programs, join(folder, 'postgres'))
  closing.defer(async () => void (await postgres.child.stop(2_000)))
  const opened = closing.move()
  return {
    redisPort: redis.port,
    postgresUrl: postgres.url,
    pids: [redis.child.pid, postgres.child.pid],
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

type Started = { child: Child; port: number }

async function startRedis(program: string, folder: string, keeps: boolean): Promise<Started> {
  mkdirSync(folder)
  const port = await freePort()
  const args = [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--daemonize', 'no'],
    ...(keeps ? ['--appendonly', 'yes'] : []),
  ]
  const child = spawnChild(program, { args })
  await listening(port, 'redis-server')
  return { child, port }
}

type PostgresPrograms = Record<'initdb' | 'postgres' | 'psql' | 'setpriv', string>

/** PostgreSQL refuses to run as root, so it then runs as the user `postgres`. */
async function startPostgres(
  { initdb, postgres, psql, setpriv }: PostgresPrograms,
  folder: string,
): Promise<Started & { url: string }> {
  mkdirSync(folder)
  const isRoot = userInfo().uid === 0
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  if (isRoot) chownSync(folder, idOf('-u'), idOf('-g'))
  const as = isRoot ? [setpriv, '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
  const command = (...args: string[]): [string, string[]] => {
    const [program = '', ...rest] = [...as, ...args]
    return [program, rest]
  }
  const data = join(folder, 'data')
  const [init, initArgs] = command(initdb, '-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8')
  execFileSync(init, initArgs, { cwd: folder, stdio: 'ignore' })
  const port = await freePort()
  const [program, args] = command(
    ...[postgres, '-D', data, '-p', String(port), '-k', folder, '-h', '127.0.0.1'],
    ...['-c', 'max_connections=300'], // peers open up to 100 in each process
  )
  const child = spawnChild(program, { args, cwd: folder })
  const url = `postgres://bench@127.0.0.1:${port}/postgres?sslmode=disable`
  const isReady = () => {
    execFileSync(psql, [url, '-c', 'select 1'], { stdio: 'ignore' })
    return true
  }
  await until(isReady, { timeout: 60_000, message: 'PostgreSQL answers' })
  return { child, port, url }
}

/** RabbitMQ. Also starts Erlang's port mapper: Erlang would start one that outlives RabbitMQ. */
export async function startRabbit(): Promise<{ url: string; pids: readonly number[] } & AsyncDisposable> {
  const programs = await findPrograms(['rabbitmq-server', 'epmd'])
  const folder = await scratchFolder('rabbitmq')
  const [port, distribution, mapper] = [await freePort(), await freePort(), await freePort()]
  const epmd = spawnChild(programs.epmd, { args: ['-port', String(mapper), '-address', '127.0.0.1'] })
  await listening(mapper, 'epmd')
  const rabbit = spawnChild(programs['rabbitmq-server'], {
    args: [],
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      ERL_EPMD_PORT: String(mapper),
      RABBITMQ_NODENAME: 'bench@localhost',
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(distribution),
      RABBITMQ_MNESIA_BASE: folder,
      RABBITMQ_LOG_BASE: folder,
      RABBITMQ_PID_FILE: join(folder, 'pid'),
      RABBITMQ_CONFIG_FILE: join(folder, 'none'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    },
  })
  await listening(port, 'rabbitmq-server')
  return {
    url: `amqp://guest:guest@127.0.0.1:${port}`,
    pids: [rabbit.pid, epmd.pid],
    async [Symbol.asyncDispose]() {
      await Promise.all([rabbit.kill(), epmd.kill()])
    },
  }
}

const listening = (port: number, name: string) =>
  until(() => canConnect(port), { timeout: 60_000, message: `${name} listens on port ${port}` })

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
