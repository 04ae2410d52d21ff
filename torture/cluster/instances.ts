import { type Env, freePorts, type Launch, launch } from '../../harness/launch.ts'
import { ROLES, type Role } from '../../settings/config-key.ts'
import { printErrors } from '../program.ts'

/** Keeps its ports across restarts. */
export type Instance = {
  role: Role
  url: string
  /** SIGKILL or SIGTERM, then a new process. Resolves when it is ready. @param next another version, from now on */
  restart(how: 'kill' | 'stop', next?: Launch): Promise<void>
  isRunning(): boolean
  kill(): Promise<unknown>
}

const GRACE_MS = 20_000
const READY_MS = 60_000

/** Resolves when all are ready. */
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
