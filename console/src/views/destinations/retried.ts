/** Statuses below 500 that a destination may have tried again. */
export const RETRIED = [408, 425, 429] as const

export type Retried = (typeof RETRIED)[number]
