import { z } from 'zod'
import { counts, type Sync, syncTask } from '../../schemas/task.ts'

/** It has counts when it is done. */
export const syncShape = syncTask
  .pick({ id: true, state: true, createdAt: true, finishedAt: true, lines: true, cause: true })
  .extend({
    audienceId: z.string().optional().describe('Of a sync of an audience.'),
    traitId: z.string().optional().describe('Of a sync of a trait.'),
    ...counts.partial().shape,
  })
  .strict()
  .meta({ id: 'Sync' })

export const shownSync = ({
  kind: _,
  others: __,
  ranges: ___,
  since: ____,
  of,
  counts,
  ...rest
}: Sync): z.infer<typeof syncShape> => ({
  ...rest,
  [`${of.kind}Id`]: of.id,
  ...counts,
})
