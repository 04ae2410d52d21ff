import type { BreakerChange, WebhookState } from '../delivery/webhooks.ts'
import type { Logger } from '../process/log.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Settlement } from './decide.ts'

export type Teller = {
  ofDelivery(result: Settlement, delivery: Delivery): void
  /** Logs only the origin of a webhook's URL: the rest may hold a secret. */
  ofBreaker(change: BreakerChange): void
}

const REPEAT_MS = 10_000
const MAX_TOLD = 10_000

/**
 * Logs what an operator looks for first: a destination that fails (once in ten seconds), each delivery that is given up
 * or misses a URL, and each breaker that opens or closes. All attempts are in topic `attempts`.
 */
export function createTeller(log: Pick<Logger, 'info' | 'warn'>): Teller {
  const toldAt = new Map<string, number>()

  function isNews(destinationId: string): boolean {
    const now = performance.now()
    if (now - (toldAt.get(destinationId) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return false
    if (toldAt.size >= MAX_TOLD) toldAt.clear()
    toldAt.set(destinationId, now)
    return true
  }

  return {
    ofDelivery(result, { deliveryId, destinationId }) {
      if (result.kind === 'done' && result.missed) {
        const urlIndexes = result.missed.map(({ urlIndex }) => urlIndex)
        log.warn(
          { deliveryId, destinationId, urlIndexes },
          'a delivery missed some URLs: they had no room during the whole retry window',
        )
      }
      if (result.kind === 'dead') {
        const fields = { deliveryId, destinationId, reason: result.reason, codes: codesOf(result.delivery) }
        log.warn(fields, 'a delivery is given up: it is in deliveries.dead')
      } else if (result.kind === 'retry' && isNews(destinationId)) {
        const { attempt } = result.delivery
        const codes = codesOf(result.delivery)
        log.warn(
          { deliveryId, destinationId, attempt, codes, next: result.rung.name },
          'a destination fails: its deliveries are tried again',
        )
      }
    },
    ofBreaker({ host: { origin }, webhook, breaker }) {
      const fields = webhook ? { ...idsOf(webhook), origin } : { origin }
      const what = webhook ? 'webhook' : 'host'
      if (breaker.open) log.warn(fields, `${what} fails: breaker opened, deliveries are deferred`)
      else log.info(fields, `${what} answers again: breaker closed`)
    },
  }
}

function idsOf({ key }: WebhookState): { destinationId: string | undefined; urlIndex: number } {
  const [destinationId, urlIndex] = key.split(' ')
  return { destinationId, urlIndex: Number(urlIndex) }
}

/** Why the last attempt failed, URL by URL. */
const codesOf = ({ attempt, history }: Delivery) =>
  history.filter((past) => past.attempt === attempt).map(({ code }) => code)
