import { perObject } from '../process/per-object.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Destination } from '../settings/settings.ts'

/** `webhook`: its unique key. `origin`: of its URL, possibly shared; empty if invalid. */
export type Target = { urlIndex: number; url: string; webhook: string; origin: string }

/** With the current settings, so corrected URLs also apply to deliveries on the ladder. */
export type Prepared =
  | { kind: 'post'; targets: readonly Target[] }
  | { kind: 'cancelled'; code: 'destination_deleted' | 'destination_disabled' }
  | { kind: 'paused'; since: number }
  | { kind: 'refused' }
  | { kind: 'unreadable' }

/** The code of the deferral that is logged when a delivery is held. */
export const PAUSED = 'destination_paused'

type Settled = Pick<Delivery, 'refusedUrls' | 'refusedIndexes'>

/**
 * `refused`: all webhooks are settled. `unreadable`: the settings cannot be read. `since`: when the settings last
 * changed, in ms since 1970.
 */
export function prepare(settled: Settled, destination: Destination | 'unreadable' | undefined): Prepared {
  if (destination === 'unreadable') return { kind: 'unreadable' }
  if (!destination) return { kind: 'cancelled', code: 'destination_deleted' }
  if (!destination.enabled) return { kind: 'cancelled', code: 'destination_disabled' }
  if (destination.paused) return { kind: 'paused', since: Date.parse(destination.updatedAt) }
  const all = targetsOf(destination)
  const targets =
    settled.refusedUrls.length === 0 ? all : all.filter((target) => !isSettled(target, settled, destination))
  return targets.length > 0 ? { kind: 'post', targets } : { kind: 'refused' }
}

/** Compares URLs, as positions shift when settings change, and positions, as webhooks may share a URL. */
function isSettled(
  { url, urlIndex }: Target,
  { refusedUrls, refusedIndexes }: Settled,
  { webhooks }: Destination,
): boolean {
  return refusedUrls.some((refused, nth) => {
    const index = refusedIndexes[nth] ?? UNKNOWN
    return refused === url && (index === urlIndex || webhooks[index]?.url !== url)
  })
}

const UNKNOWN = -1

export function settledWith(
  { refusedUrls, refusedIndexes }: Settled,
  webhooks: readonly { url: string; urlIndex: number }[],
): Settled {
  const indexes = refusedUrls.map((_, nth) => refusedIndexes[nth] ?? UNKNOWN)
  return {
    refusedUrls: [...refusedUrls, ...webhooks.map(({ url }) => url)],
    refusedIndexes: [...indexes, ...webhooks.map(({ urlIndex }) => urlIndex)],
  }
}

export const webhookKey = (destinationId: string, urlIndex: number, url: string) =>
  `${destinationId} ${urlIndex} ${url}`

// a changed destination is another object
export const targetsOf = perObject(({ id, webhooks }: Destination): readonly Target[] =>
  webhooks.map(({ url }, urlIndex) => ({
    urlIndex,
    url,
    webhook: webhookKey(id, urlIndex, url),
    origin: URL.parse(url)?.origin ?? '',
  })),
)
