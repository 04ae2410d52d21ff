import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import got from 'got'
import { freePort } from '../local/ports.ts'
import { type Child, spawnChild } from '../local/processes/child-process.ts'
import { ROLES, type Role } from '../settings/config-key.ts'
import { until } from './until.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

type Start = { flags: readonly string[]; malloc: { MALLOC_ARENA_MAX?: string } }

export const { flags: NODE_FLAGS, malloc: MALLOC_ENV } = readStart(ROOT)

/** What `npm start` gives to each process. A checkout of an older version may set no arenas. */
function readStart(root: string): Start {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [, arenas] = /MALLOC_ARENA_MAX=(\d+)/.exec(scripts.start) ?? []
  return { flags: scripts.start.match(/--\S+/g), malloc: arenas ? { MALLOC_ARENA_MAX: arenas } : {} }
}

export type Env = Readonly<Record<string, string>>

const ONCE = { retry: { limit: 0 }, timeout: { request: 2_000 } } as const

/** A process of a role. It ends with this process. */
export type Launched = Child & {
  role: Role
  url: string
  /** Ingest has a separate port for `/metrics`. */
  opsUrl: string
  /** @throws after `timeout` ms, or with the last lines of a process that ends */
  ready(timeout?: number): Promise<void>
  metrics(): Promise<string>
}

/** Starts a role as operators run it. @param env with a port for the role (`freePorts`) */
export type Launch = (role: Role, env: Env, onLine?: (line: string) => void) => Launched

export const launch: Launch = launchFrom(ROOT)

/** @param root a checkout with its packages installed. Processes start as with its `npm start`. */
export function launchFrom(root: string): Launch {
  const program = { cwd: root, ...readStart(root) }
  return (role, env, onLine) => start(role, env, { ...program, ...(onLine && { onLine }) })
}

type Program = Start & { cwd: string; onLine?: (line: string) => void }

function start(role: Role, env: Env, { cwd, flags, malloc, onLine }: Program): Launched {
  const last: string[] = []
  const tied = spawnChild(process.execPath, {
    args: [...flags, `${role}/main.ts`],
    cwd,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...malloc, ...env },
    onLine(line) {
      last.push(line)
      if (last.length > 20) last.shift()
      onLine?.(line)
    },
  })
  let ended = false
  void tied.exited.then(() => {
    ended = true
  })
  const port = env[`${role.toUpperCase()}_PORT`]
  const url = `http://127.0.0.1:${port}`
  const opsUrl = role === 'ingest' ? `http://127.0.0.1:${env.INGEST_METRICS_PORT}` : url
  return {
    ...tied,
    ...{ role, url, opsUrl },
    async ready(timeout = 90_000) {
      // fetch, because this polls, and got takes several times the CPU for a refused request
      const isReady = async () => {
        const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })
        await response.arrayBuffer()
        return response.ok
      }
      const printed = () => `it printed:\n${last.join('\n')}`
      const message = () => `${role} on port ${port} is ready; ${printed()}`
      await until(async () => ended || (await isReady()), { timeout, message })
      if (ended) throw new Error(`${role} ended before it was ready; ${printed()}`)
    },
    metrics: () => got(`${opsUrl}/metrics`, ONCE).text(),
  }
}

/** A port stays free until its process listens, so it must not be given twice. */
const given: number[] = []
/** The ports of ten calls. Older ones are free again, and a process has only 100. */
const MAX_GIVEN = 60

/**
 * For each role, and for the second port of ingest and control.
 * @param others settings of processes that may be restarting: their ports are not given
 */
export async function freePorts(others: Env = {}): Promise<Record<string, string>> {
  const names = [
    ...ROLES.map((role) => `${role.toUpperCase()}_PORT`),
    'INGEST_METRICS_PORT',
    'CONTROL_METRICS_PORT',
  ]
  const settings: Record<string, string> = {}
  for (const name of names) {
    const port = await freePort('127.0.0.1', [...given, ...Object.values(others).map(Number)])
    given.push(port)
    settings[name] = String(port)
  }
  given.splice(0, given.length - MAX_GIVEN)
  return settings
}
