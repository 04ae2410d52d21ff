import type { Delivery } from '../schemas/delivery.ts'
import type { Destination } from '../schemas/settings.ts'
import { type Request, request } from './request.ts'

/** What to do with a delivery now, by the settings as they are now: a corrected URL works for what waits in the ladder. */
export type Plan =
  | { kind: 'post'; requests: Request[] }
  | { kind: 'cancelled'; code: 'destination_deleted' | 'destination_disabled' }
  | { kind: 'refused' }

/** One POST to each configured URL that has not refused for good. `refused`: none is left. */
export function plan(delivery: Delivery, destination: Destination | undefined): Plan {
  if (!destination) return { kind: 'cancelled', code: 'destination_deleted' }
  if (!destination.enabled) return { kind: 'cancelled', code: 'destination_disabled' }
  const requests = destination.webhooks.flatMap((webhook, urlIndex) =>
    delivery.refusedUrls.includes(webhook.url)
      ? []
      : [request(delivery, delivery.attempt + 1, { destination, urlIndex }, webhook)],
  )
  return requests.length > 0 ? { kind: 'post', requests } : { kind: 'refused' }
}
