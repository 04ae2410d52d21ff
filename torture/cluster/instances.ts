import { type Env, freePorts, type Launched, launch } from '../../harness/launch.ts'
import { ROLES, type Role } from '../../settings/config-key.ts'

/** One process of a role. Its ports stay the same across restarts. */
export type Instance = {
  role: Role
  url: string
  /** Ends the process by SIGKILL or SIGTERM and starts a new one. @returns when the new one is ready. */
  restart(how: 'kill' | 'stop'): Promise<void>
  kill(): Promise<unknown>
}

/** Time for a process to shut down. */
const GRACE_MS = 20_000
const READY_MS = 60_000

/** Starts several processes of each role. @returns when all are ready. */
export async function startInstances(env: Env, copies: number): Promise<readonly Instance[]> {
  const starting: Promise<Instance>[] = []
  for (const role of ROLES)
    for (let copy = 0; copy < copies; copy++)
      starting.push(startInstance(role, { ...env, ...(await freePorts()) }))
  return await Promise.all(starting)
}

async function startInstance(role: Role, env: Env): Promise<Instance> {
  let current = launchLogged(role, env)
  await current.ready(READY_MS)
  return {
    role,
    url: current.url,
    async restart(how) {
      await (how === 'kill' ? current.kill() : current.stop(GRACE_MS))
      current = launchLogged(role, env)
      await current.ready(READY_MS)
    },
    kill: () => current.kill(),
  }
}

/** Prints its errors on stderr. */
function launchLogged(role: Role, env: Env): Launched {
  const port = env[`${role.toUpperCase()}_PORT`]
  return launch(role, env, (line) => {
    if (/"level":"(error|fatal)"/.test(line))
      process.stderr.write(`    ${role}:${port} ${line.slice(0, 600)}\n`)
  })
}
