import type { Health } from '../../../api/health.ts'

type Endpoint = Pick<Health['endpoints'][number], 'lastError' | 'lastDeliveredAt'>

/** What is known of a webhook's last POSTs: whether each is of the present settings, and the error is over. */
export type OfNow = { isErrorOfNow: boolean; isErrorOver: boolean; isDeliveredOfNow: boolean }

/**
 * An attempt tells the position of its URL alone: what was there before the settings were changed last may have been another one.
 * @param updatedAt ISO 8601
 */
export function ofNow({ lastError, lastDeliveredAt }: Endpoint, updatedAt: string): OfNow {
  const isOfNow = (at: string | null | undefined) => at != null && at >= updatedAt
  const errorAt = lastError?.at ?? null
  return {
    isErrorOfNow: isOfNow(errorAt),
    isErrorOver: errorAt !== null && lastDeliveredAt !== null && errorAt < lastDeliveredAt,
    isDeliveredOfNow: isOfNow(lastDeliveredAt),
  }
}
