import { z } from 'zod'
import { counts, type Sync, syncTask } from '../../schemas/task.ts'

/** Which of the two ids it has says what it is of; it has counts when it is done. */
export const syncShape = syncTask
  .pick({ id: true, state: true, createdAt: true, finishedAt: true, lines: true })
  .extend({ audienceId: z.string().optional(), traitId: z.string().optional(), ...counts.partial().shape })
  .strict()
  .meta({ id: 'Sync' })

export const shownSync = ({
  kind: _,
  others: __,
  ranges: ___,
  of,
  counts,
  ...rest
}: Sync): z.infer<typeof syncShape> => ({
  ...rest,
  [`${of.kind}Id`]: of.id,
  ...counts,
})
