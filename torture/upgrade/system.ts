import { startOwnBroker } from '../../harness/kafka/broker.ts'
import { startOwnRegistry } from '../../harness/kafka/stack.ts'
import type { Launch } from '../../harness/launch.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import type { Role } from '../../settings/config-key.ts'
import { type Instance, startInstances } from '../cluster/instances.ts'
import { type Endpoint, startHost } from '../endpoints.ts'
import { say } from '../program.ts'
import { apiOf, environment, type Sluice } from '../sluice.ts'
import type { TimedPost } from './findings.ts'
import type { Replaced, Replacement } from './plan.ts'

/** Destinations by the numbers of their endpoints. `moving` has one of its two at a time. */
const NAMES = [
  'healthy',
  'failing',
  'busy',
  'strict',
  'ruled',
  'moving',
  'moving',
  'added-0',
  'added-1',
] as const
/** The endpoint of a destination; the first one of `moving`. */
export const endpointOf = (destinationId: (typeof NAMES)[number]): number => NAMES.indexOf(destinationId)

/** The last rung is long: retries of one version stay there until the other has taken over. */
const SETTINGS = { RETRY_LADDER: '1s,5s,20s,90s', RETRY_WINDOW: '5m', LOG_LEVEL: 'info' }
const COPIES = 2

/** Two of each process, of one version or both, on one broker. */
export type System = {
  env: Readonly<Record<string, string>>
  endpoints: readonly Endpoint[]
  /** Every answered POST so far. */
  posts: readonly TimedPost[]
  instance(of: Replacement): Instance
  urls(role: Role): readonly string[]
  /** Control's API, through one of the two instances. */
  api(copy: Replacement['copy']): Sluice['api']
  /** SIGTERM, then the other version. Resolves when it is ready. */
  replace(what: Replacement, by: Launch): Promise<Replaced>
  /** @throws if a process has ended on its own */
  check(): void
}

export async function startSystem(first: Launch, closing: AsyncDisposableStack): Promise<System> {
  const posts: TimedPost[] = []
  const onPost = (post: Omit<TimedPost, 'at'>) => void posts.push({ ...post, at: performance.now() })
  const host = closing.adopt(await startHost(NAMES, onPost), (it) => it.close())
  const broker = closing.adopt(await startOwnBroker(), (it) => it.close())
  const { brokers } = broker.now
  const registry = await startOwnRegistry(brokers, await scratchFolder('registry'), say)
  closing.defer(async () => void (await registry.kill()))
  const env = { ...environment({ brokers, registryUrl: registry.url }), ...SETTINGS }
  const instances = await startInstances(env, COPIES, first)
  closing.defer(async () => void (await Promise.all(instances.map((instance) => instance.kill()))))

  const ofRole = (role: Role) => instances.filter((instance) => instance.role === role)
  function instance({ role, copy }: Replacement): Instance {
    const found = ofRole(role)[copy]
    if (!found) throw new Error(`there is no ${role} ${copy}`)
    return found
  }
  return {
    ...{ env, posts, instance },
    endpoints: host.endpoints,
    urls: (role) => ofRole(role).map(({ url }) => url),
    api: (copy) => apiOf({ ...env, CONTROL_PORT: new URL(instance({ role: 'control', copy }).url).port }),
    async replace(what, by) {
      const from = performance.now()
      await instance(what).restart('stop', by)
      return { ...what, from, to: performance.now() }
    },
    check() {
      const ended = instances.filter((each) => !each.isRunning()).map(({ role }) => role)
      if (ended.length > 0) throw new Error(`ended on its own: ${ended.join(', ')}`)
    },
  }
}
