/**
 * Why a delivery was given up: the header `reason` and the field `deadReason` of records in `deliveries.dead`. Replays
 * select by it.
 */
export const DEAD_REASONS = ['window_expired', 'attempts_exhausted', 'rejected', 'refused'] as const
export type DeadReason = (typeof DEAD_REASONS)[number]
