import type { Health } from '../../../api/health.ts'
import type { WebhookState } from '../../../wording/states.ts'

type Webhook = Pick<Health['endpoints'][number], 'state' | 'breaker' | 'lastError' | 'lastDeliveredAt'>

/** `isErrorCurrent`, `isDeliveryCurrent`: it happened with the present settings. `isErrorOver`: a later delivery succeeded. */
export type WebhookHealth = {
  state: WebhookState
  isErrorCurrent: boolean
  isErrorOver: boolean
  isDeliveryCurrent: boolean
}

/**
 * Attempts store only the position of their webhook. Before the last change of the settings, another URL may have had that
 * position, so an older error says nothing about the state.
 * @param updatedAt of the settings, ISO 8601
 */
export function webhookHealth(
  { state, breaker, lastError, lastDeliveredAt }: Webhook,
  updatedAt: string,
): WebhookHealth {
  const isCurrent = (at: string | null | undefined) => at != null && at >= updatedAt
  const errorAt = lastError?.at ?? null
  const isErrorCurrent = isCurrent(errorAt)
  const isFromError = breaker === 'closed' && (state === 'rejecting' || state === 'failing')
  return {
    state: isFromError && !isErrorCurrent ? 'idle' : state,
    isErrorCurrent,
    isErrorOver: errorAt !== null && lastDeliveredAt !== null && errorAt < lastDeliveredAt,
    isDeliveryCurrent: isCurrent(lastDeliveredAt),
  }
}
