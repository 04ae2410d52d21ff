import type { BreakerChange, WebhookState } from '../delivery/webhooks.ts'
import { createLogLimit, type Logger } from '../process/log.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Settlement } from './decide.ts'

export type DeliveryFailureLog = {
  ofDelivery(settlement: Settlement, delivery: Delivery): void
  /** Logs only the origin of a URL, as the rest may contain a secret. */
  ofBreaker(change: BreakerChange): void
}

const REPEAT_MS = 10_000

/**
 * For each destination, logs retries, missed webhooks, and each reason for dead letters at most once in ten seconds: a
 * batch of 175 bytes makes 1,500 dead letters.
 */
export function createDeliveryFailureLog(log: Pick<Logger, 'info' | 'warn'>): DeliveryFailureLog {
  const mayLog = createLogLimit(REPEAT_MS)

  return {
    ofDelivery(settlement, { deliveryId, destinationId }) {
      if (settlement.kind === 'done' && settlement.missed && mayLog(`${destinationId} missed`)) {
        const urlIndexes = settlement.missed.map(({ urlIndex }) => urlIndex)
        log.warn(
          { deliveryId, destinationId, urlIndexes },
          'a delivery missed some webhooks: they had no room during the whole retry window',
        )
      }
      if (settlement.kind === 'dead') {
        const { reason } = settlement
        if (!mayLog(`${destinationId} ${reason}`)) return
        const fields = { deliveryId, destinationId, reason, codes: codesOf(settlement.delivery) }
        log.warn(fields, 'a delivery is dead: topic deliveries.dead has all of them')
      } else if (settlement.kind === 'retry' && mayLog(destinationId)) {
        const { attempt } = settlement.delivery
        const codes = codesOf(settlement.delivery)
        log.warn(
          { deliveryId, destinationId, attempt, codes, next: settlement.rung.name },
          'a destination fails: its deliveries are retried',
        )
      }
    },
    ofBreaker({ host: { origin }, webhook, breaker }) {
      const fields = webhook ? { ...idsOf(webhook), origin } : { origin }
      const what = webhook ? 'webhook' : 'host'
      if (breaker.open) log.warn(fields, `a ${what} fails: its breaker has opened, deliveries are deferred`)
      else log.info(fields, `a ${what} answers again: its breaker has closed`)
    },
  }
}

function idsOf({ key }: WebhookState): { destinationId: string | undefined; urlIndex: number } {
  const [destinationId, urlIndex] = key.split(' ')
  return { destinationId, urlIndex: Number(urlIndex) }
}

const codesOf = ({ attempt, history }: Delivery) =>
  history.filter((past) => past.attempt === attempt).map(({ code }) => code)
