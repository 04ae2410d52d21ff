import { type Env, freePorts, type Launch, launch } from '../../harness/launch.ts'
import { ROLES, type Role } from '../../settings/config-key.ts'
import { printErrors } from '../program.ts'

/** One process of a role. Its ports stay the same across restarts. */
export type Instance = {
  role: Role
  url: string
  /**
   * Ends the process by SIGKILL or SIGTERM and starts a new one. @returns when the new one is ready.
   * @param next starts another version from now on.
   */
  restart(how: 'kill' | 'stop', next?: Launch): Promise<void>
  /** False once the process has ended, until the next one is started. */
  isRunning(): boolean
  kill(): Promise<unknown>
}

/** Time for a process to shut down. */
const GRACE_MS = 20_000
const READY_MS = 60_000

/** Starts several processes of each role. @returns when all are ready. */
export async function startInstances(
  env: Env,
  copies: number,
  first: Launch = launch,
): Promise<readonly Instance[]> {
  const starting: Promise<Instance>[] = []
  for (const role of ROLES)
    for (let copy = 0; copy < copies; copy++)
      starting.push(startInstance(role, { ...env, ...(await freePorts()) }, first))
  return await Promise.all(starting)
}

async function startInstance(role: Role, env: Env, first: Launch): Promise<Instance> {
  let isRunning = false
  async function start(by: Launch) {
    const launched = by(role, env, printErrors(`${role}:${env[`${role.toUpperCase()}_PORT`]}`))
    isRunning = true
    void launched.exited.then(() => {
      isRunning = false
    })
    await launched.ready(READY_MS)
    return launched
  }
  let version = first
  let current = await start(version)
  return {
    role,
    url: current.url,
    isRunning: () => isRunning,
    async restart(how, next = version) {
      version = next
      await (how === 'kill' ? current.kill() : current.stop(GRACE_MS))
      current = await start(version)
    },
    kill: () => current.kill(),
  }
}
