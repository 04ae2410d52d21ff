import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '../../harness/until.ts'
import { cacheFolder } from '../../local/kafka/downloads.ts'
import { type Child, spawnChild } from '../../local/processes/child-process.ts'

export type Peer = {
  name: string
  repository: string
  commit: string
  /** What the build needs of the repository. */
  paths: readonly string[]
  /** Puts programs into `folder`. */
  build(source: string, folder: string): void | Promise<void>
}

/**
 * Builds a peer once, from GitHub or from the clone that `OUTPOST_SOURCE`, `SVIX_SOURCE` or `CONVOY_SOURCE` names.
 * @returns the programs' folder
 */
export async function buildPeer({ name, repository, commit, paths, build }: Peer): Promise<string> {
  const folder = join(await cacheFolder(process.env), `${name.toLowerCase()}-${commit.slice(0, 12)}`)
  if (existsSync(folder)) return folder
  const building = `${folder}.building`
  await rm(building, { recursive: true, force: true })
  await mkdir(building, { recursive: true })
  const source = join(building, 'source')
  process.stderr.write(`building ${name} (first run only)\n`)
  const origin = process.env[`${name.toUpperCase()}_SOURCE`] ?? repository
  execFileSync('git', ['clone', '--quiet', '--no-checkout', origin, source])
  execFileSync('git', ['-C', source, 'checkout', '--quiet', commit, '--', ...paths])
  await build(source, building)
  await rm(source, { recursive: true })
  await rename(building, folder)
  return folder
}

/** `health`: a URL that answers 2xx once the service is ready; a service without one is not waited for. */
export type Command = { program: string; args?: readonly string[]; env: NodeJS.ProcessEnv; health?: string }

/** A process for each service, until `closing` is disposed. */
export async function startServices<Service extends string>(
  closing: AsyncDisposableStack,
  services: readonly Service[],
  commandOf: (service: Service) => Command | Promise<Command>,
) {
  const children = new Map<Service, Child>()
  closing.defer(async () => void (await Promise.all([...children.values()].map((it) => it.kill()))))

  async function start(service: Service): Promise<void> {
    const { program, args = [], env, health } = await commandOf(service)
    children.set(service, spawnChild(program, { args, env }))
    if (health === undefined) return
    const isHealthy = async () => (await fetch(health)).ok
    await until(isHealthy, { timeout: 60_000, message: `the service ${service} of ${program} answers` })
  }

  for (const service of services) await start(service)
  return {
    pids: [...children.values()].map(({ pid }) => pid),
    async replace(service: Service) {
      await children.get(service)?.kill()
      await start(service)
    },
  }
}
