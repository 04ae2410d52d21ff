import got from 'got'
import { type Child, spawnChild } from '../../local/child-process.ts'
import { freePort } from '../../local/ports.ts'
import { ROLES, type Role } from '../../settings/config-key.ts'
import { NODE_FLAGS } from '../../test/helpers/node-flags.ts'
import { until } from '../../test/helpers/until.ts'

/** One process of a role, on ports of its own, which keep through restarts. */
export type Instance = {
  role: Role
  url: string
  /** SIGKILL, or SIGTERM and what it takes to end in order; then a new one, until that is ready. */
  restart(how: 'kill' | 'stop'): Promise<void>
  kill(): Promise<unknown>
}

const GRACE_MS = 20_000
const READY_MS = 60_000

/** So many of each role, all ready. */
export async function startInstances(
  env: Readonly<Record<string, string>>,
  copies: number,
): Promise<readonly Instance[]> {
  const taken: number[] = []
  const take = async () => {
    const port = await freePort('127.0.0.1', taken)
    taken.push(port)
    return String(port)
  }
  const starting: Promise<Instance>[] = []
  for (const role of ROLES)
    for (let copy = 0; copy < copies; copy++) {
      const ports = {
        [`${role.toUpperCase()}_PORT`]: await take(),
        INGEST_METRICS_PORT: await take(),
        CONTROL_METRICS_PORT: '0',
      }
      starting.push(startInstance(role, { ...env, ...ports }))
    }
  return await Promise.all(starting)
}

async function startInstance(role: Role, env: Readonly<Record<string, string>>): Promise<Instance> {
  const port = env[`${role.toUpperCase()}_PORT`]
  const probe = `http://127.0.0.1:${role === 'ingest' ? env.INGEST_METRICS_PORT : port}/readyz`
  let tied = launch()

  function launch(): Child {
    return spawnChild(process.execPath, {
      args: [...NODE_FLAGS, `${role}/main.ts`],
      env: { PATH: process.env.PATH, ...env },
      onLine: (line) => {
        if (/"level":"(error|fatal)"/.test(line))
          process.stderr.write(`    ${role}:${port} ${line.slice(0, 600)}\n`)
      },
    })
  }

  const ready = () =>
    until(() => got(probe, { retry: { limit: 0 } }), {
      timeout: READY_MS,
      message: `${role} on ${port} is ready`,
    })

  await ready()
  return {
    role,
    url: `http://127.0.0.1:${port}`,
    async restart(how) {
      await (how === 'kill' ? tied.kill() : tied.stop(GRACE_MS))
      tied = launch()
      await ready()
    },
    kill: () => tied.kill(),
  }
}
