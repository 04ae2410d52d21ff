import type { Stack } from '../../harness/kafka/stack.ts'
import type { Launched } from '../../harness/launch.ts'
import { type PreparedSystem, prepareSystem, putDestinations, startRole } from '../../harness/prepare.ts'
import type { Entry } from '../load/scenario.ts'
import { type Hosts, startEndpoints } from '../receivers/start.ts'

/** From calls to webhooks. Each endpoint has its own source, so each call makes one delivery. */
export type Pipeline = Entry & {
  system: PreparedSystem
  router: Launched
  deliverer: Launched
  pids: { ingest: number; router: number; deliverer: number }
} & AsyncDisposable

/** Real processes, on separate topics. @param endpoints their number, each with its own origin; or the host of each */
export async function startPipeline(stack: Stack, endpoints: number | Hosts): Promise<Pipeline> {
  await using closing = new AsyncDisposableStack()
  const started = closing.adopt(await startEndpoints(endpoints), (it) => it.stop())
  const sources = started.urls.map((_, index) => ({
    id: `source-${index}`,
    writeKey: `bench-write-key-${index}`,
    enabled: true,
  }))
  const system = await prepareSystem({ ...stack, sources })
  const toDestination = (url: string, index: number) => ({
    id: `destination-${index}`,
    sourceId: `source-${index}`,
    url,
  })
  await putDestinations(system, started.urls.map(toDestination))
  const { ingest, router, deliverer } = await startRoles(system, closing)
  const opened = closing.move()
  return {
    system,
    ...{ target: 'sluice', url: ingest.url, keys: sources.map(({ writeKey }) => writeKey) },
    endpoints: started,
    router,
    deliverer,
    pids: { ingest: ingest.pid, router: router.pid, deliverer: deliverer.pid },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** They are killed at the end: their topics are not used again. */
export async function startRoles(system: Pick<PreparedSystem, 'env'>, closing: AsyncDisposableStack) {
  const [ingest, router, deliverer] = await Promise.all([
    startRole('ingest', system),
    startRole('router', system),
    startRole('deliverer', system),
  ])
  closing.defer(async () => void (await Promise.all([ingest, router, deliverer].map((it) => it.kill()))))
  return { ingest, router, deliverer }
}
