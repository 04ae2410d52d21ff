import type { Logger } from '../log.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Endpoint } from './endpoint/endpoints.ts'
import type { Result } from './settle.ts'

const REPEAT_MS = 10_000
const toldAt = new Map<string, number>()

/**
 * Says in the log what an operator looks for first: a destination that fails, once in ten seconds, and each delivery that is
 * given up. All attempts are in topic `attempts`.
 */
export function tellOf(next: Result, delivery: Delivery, log: Pick<Logger, 'warn'>): void {
  const { deliveryId, destinationId } = delivery
  if (next.kind === 'dead') {
    const codes = codesOf(next.delivery)
    log.warn(
      { deliveryId, destinationId, reason: next.reason, codes },
      'a delivery is given up: it is in deliveries.dead',
    )
  } else if (next.kind === 'retry' && isNews(destinationId, Date.now())) {
    const { attempt } = next.delivery
    const fields = { deliveryId, destinationId, attempt, codes: codesOf(next.delivery), next: next.rung.name }
    log.warn(fields, 'a destination fails: its deliveries are tried again')
  }
}

/** An endpoint's breaker has opened or closed. Of its URLs the origin alone is told: the rest may hold a secret. */
export function tellOfEndpoint({ origin, breaker }: Endpoint, log: Pick<Logger, 'warn' | 'info'>): void {
  if (breaker.open)
    log.warn({ origin }, 'an endpoint fails: it gets a probe now and then, and its deliveries are put off')
  else log.info({ origin }, 'an endpoint answers again')
}

/** Why the last attempt failed, URL by URL. */
const codesOf = ({ attempt, history }: Delivery) =>
  history.filter((past) => past.attempt === attempt).map(({ code }) => code)

function isNews(destinationId: string, now: number): boolean {
  if (now - (toldAt.get(destinationId) ?? 0) < REPEAT_MS) return false
  toldAt.set(destinationId, now)
  return true
}
