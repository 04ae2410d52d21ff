import { z } from 'zod'
import { idShape } from '../../schemas/settings.ts'
import type { Replay } from '../../schemas/task.ts'
import { type Page, page, pageShape } from '../http/page.ts'

export const replaysShape = z.strictObject({
  limit: pageShape.shape.limit,
  cursor: z
    .string()
    .regex(/^[a-z0-9_-]{1,81}$/, 'give the next of the page before')
    .optional()
    .describe('`next` of the page before.'),
  newest: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: those that were begun last come first. Unless told in the order of ids.'),
  destinationId: idShape.optional().describe('Those to this destination alone.'),
})

/** A page of replays: in the order of ids, or the newest first. */
export function listed(
  replays: Iterable<Replay>,
  { newest, destinationId, ...asked }: z.infer<typeof replaysShape>,
): Page<Replay> {
  const wanted = [...replays].filter(
    (replay) => replay.destinationId === (destinationId ?? replay.destinationId),
  )
  if (newest !== 'true') return page(wanted, asked)
  const placed = wanted.map((replay) => ({ id: placeOf(replay), replay }))
  const { items, next } = page(placed, asked)
  return { items: items.map(({ replay }) => replay), next }
}

/** The last moment that there is (ECMA-262, "Time Values"): what is left to it goes down as time goes on. */
const LAST = 8.64e15
const placeOf = ({ createdAt, id }: Replay) =>
  `${String(LAST - Date.parse(createdAt)).padStart(16, '0')}-${id}`
