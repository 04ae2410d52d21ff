import { z } from 'zod'
import { STATUSES } from './status.ts'

/** How far a group is behind in a partition, as it is told. */
export const lagItemShape = z
  .strictObject({
    group: z.string(),
    topic: z.string(),
    partition: z.number(),
    end: z
      .number()
      .describe('The offset behind the last record; for a replay, behind the last that it is to read.'),
    committed: z.number().nullable().describe('Null: nothing yet.'),
    lag: z
      .number()
      .describe(
        'Offsets from the committed one (or the first that there still is) to the end. What is settled out of order beyond it is among them, until the gap closes.',
      ),
    lagSeconds: z
      .number()
      .nullable()
      .describe(
        "How long the oldest record that is not settled has waited; on a rung, how long it is past due. Null: not known, or a replay's, whose records are old.",
      ),
    status: z
      .enum(STATUSES)
      .describe(
        'By how it went over the last 20 s: `warn`: falls behind; `stall`: a consumer is there, but gets nowhere; `stop`: nobody works on it; `rewind`: turned back.',
      ),
  })
  .meta({ id: 'Lag' })

export type LagItem = z.infer<typeof lagItemShape>
