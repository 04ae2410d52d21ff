import type { Delivery } from '../schemas/delivery.ts'
import type { Destination } from '../schemas/settings.ts'

/**
 * A webhook to post to. `webhook`: its key, one for each URL of each destination. `origin`: the host that it shares with others;
 * empty when its URL is invalid.
 */
export type Target = { urlIndex: number; url: string; webhook: string; origin: string }

/** What to do with a delivery now, by the settings as they are now: a corrected URL works for what waits in the ladder. */
export type Plan =
  | { kind: 'post'; targets: readonly Target[] }
  | { kind: 'cancelled'; code: 'destination_deleted' | 'destination_disabled' }
  | { kind: 'refused' }

/** One POST to each configured URL that has not refused for good. `refused`: none is left. */
export function plan(
  { refusedUrls }: Pick<Delivery, 'refusedUrls'>,
  destination: Destination | undefined,
): Plan {
  if (!destination) return { kind: 'cancelled', code: 'destination_deleted' }
  if (!destination.enabled) return { kind: 'cancelled', code: 'destination_disabled' }
  const all = targetsOf(destination)
  const targets = refusedUrls.length === 0 ? all : all.filter(({ url }) => !refusedUrls.includes(url))
  return targets.length > 0 ? { kind: 'post', targets } : { kind: 'refused' }
}

/** By settings: they are made anew when they change. */
const known = new WeakMap<Destination, readonly Target[]>()

/** In the order of its webhooks. */
export function targetsOf(destination: Destination): readonly Target[] {
  const before = known.get(destination)
  if (before) return before
  const targets = destination.webhooks.map(({ url }, urlIndex) => ({
    urlIndex,
    url,
    webhook: `${destination.id} ${urlIndex} ${url}`,
    origin: URL.parse(url)?.origin ?? '',
  }))
  known.set(destination, targets)
  return targets
}
