import { type Env, freePorts, launch } from '../../harness/launch.ts'
import { ROLES, type Role } from '../../settings/config-key.ts'
import { printErrors } from '../program.ts'

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
  const start = () => launch(role, env, printErrors(`${role}:${env[`${role.toUpperCase()}_PORT`]}`))
  let current = start()
  await current.ready(READY_MS)
  return {
    role,
    url: current.url,
    async restart(how) {
      await (how === 'kill' ? current.kill() : current.stop(GRACE_MS))
      current = start()
      await current.ready(READY_MS)
    },
    kill: () => current.kill(),
  }
}
