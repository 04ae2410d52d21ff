/** Why a delivery was given up: header `reason` and field `deadReason` of records in `deliveries.dead`, and of replays. */
export const DEAD_REASONS = ['window_expired', 'attempts_exhausted', 'rejected', 'refused'] as const
export type DeadReason = (typeof DEAD_REASONS)[number]
