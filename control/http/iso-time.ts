import { z } from 'zod'

/** As `isoTime` makes it. */
export const timeShape = z.iso.datetime().nullable()

/** ISO 8601 UTC with milliseconds. What is beyond all dates is shown as none. */
export const isoTime = (ms: number): string | null =>
  Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : null
