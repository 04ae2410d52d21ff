import { z } from 'zod'

/** Of what would be written. */
export const dryRunShape = z.strictObject({
  dryRun: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: all is judged and answered as if it were so, and nothing is written.'),
})

/** What a dry run of a write answers. @param shown of a record, with its id of the description. */
export const draftOf = (shown: z.ZodObject) =>
  shown
    .extend({
      changed: z
        .array(z.string())
        .describe(
          'JSON pointers (RFC 6901) of the fields that would be others than now, secrets too. Empty: nothing would be.',
        ),
    })
    .meta({ id: `${shown.meta()?.id}Draft` })
