import type { Logger } from '../log.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Endpoint } from './endpoint/endpoints.ts'
import type { Result } from './settle.ts'

export type Teller = {
  ofDelivery(result: Result, delivery: Delivery): void
  /** Its breaker has opened or closed. Of its URLs the origin alone is told: the rest may hold a secret. */
  ofEndpoint(endpoint: Endpoint): void
}

const REPEAT_MS = 10_000
const MAX_TOLD = 10_000

/**
 * Says in the log what an operator looks for first: a destination that fails, once in ten seconds, each delivery that is given
 * up, and endpoints whose breaker opens and closes. All attempts are in topic `attempts`.
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
    ofEndpoint({ origin, breaker }) {
      if (breaker.open)
        log.warn(
          { origin },
          'an endpoint fails: it gets a probe now and then, and its deliveries are put off',
        )
      else log.info({ origin }, 'an endpoint answers again')
    },
  }
}

/** Why the last attempt failed, URL by URL. */
const codesOf = ({ attempt, history }: Delivery) =>
  history.filter((past) => past.attempt === attempt).map(({ code }) => code)
