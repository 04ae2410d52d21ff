import type { Health } from '../../../api/health.ts'

type Webhook = Pick<Health['endpoints'][number], 'lastError' | 'lastDeliveredAt'>

/** `is...Current`: with the current settings. `isErrorOver`: a later delivery succeeded. */
export type WebhookHealth = { isErrorCurrent: boolean; isErrorOver: boolean; isDeliveryCurrent: boolean }

/**
 * An error from before the last change says nothing about the current settings.
 * @param updatedAt of the settings, ISO 8601
 */
export function webhookHealth({ lastError, lastDeliveredAt }: Webhook, updatedAt: string): WebhookHealth {
  const isCurrent = (at: string | null | undefined) => at != null && at >= updatedAt
  const errorAt = lastError?.at ?? null
  return {
    isErrorCurrent: isCurrent(errorAt),
    isErrorOver: errorAt !== null && lastDeliveredAt !== null && errorAt < lastDeliveredAt,
    isDeliveryCurrent: isCurrent(lastDeliveredAt),
  }
}
