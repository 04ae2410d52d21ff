import { z } from 'zod'

/**
 * `warn`: it works, but falls behind. `stall`: its consumer is there, but gets nowhere. `stop`: nobody works on it.
 * `rewind`: it was turned back, and is not yet where it was.
 */
export const STATUSES = ['ok', 'warn', 'stall', 'stop', 'rewind'] as const

export type LagItem = z.infer<typeof lagItemShape>

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

export type Status = (typeof STATUSES)[number]

/** One look at a partition of a group. */
export type Observation = {
  /** From where the group would go on. */
  position: number
  /** Records that were there, and due, at the look before, and are not settled now. */
  behind: number
  /** Whether the group has committed since the look before. */
  committed: boolean
  /** Whether a member of the group has the partition. */
  owned: boolean
}

/**
 * Burrow's rules (https://github.com/linkedin/Burrow/wiki/Consumer-Lag-Evaluation-Rules, and its evaluator for `rewind`),
 * without any limit that would have to be chosen: what counts is how a partition went over the last looks. Burrow is told of
 * each commit; we see whether one has changed anything, and as our consumers commit only then, one that has a partition counts as
 * alive without a commit. And as it is behind only with what it was given time for, records that are just being worked on
 * are no lag here.
 * @param window the last looks, oldest first. Only as many as `observations` say more than `ok` and `rewind`.
 */
export function statusOf(window: readonly Observation[], observations: number): Status {
  const last = window.at(-1)
  if (!last || last.behind === 0) return 'ok'
  const isBehindAllAlong = window.length >= observations && window.every(({ behind }) => behind > 0)
  if (isBehindAllAlong && !last.owned && window.every(({ committed }) => !committed)) return 'stop'
  if (isTurnedBack(window)) return 'rewind'
  if (!isBehindAllAlong) return 'ok'
  if (window.every(({ position }) => position === last.position)) return 'stall'
  return pairs(window).every(([before, after]) => after.behind >= before.behind) ? 'warn' : 'ok'
}

/** Also one that had no lag may be turned back; one that has come again to where it was has got over it. */
function isTurnedBack(window: readonly Observation[]): boolean {
  const furthest = Math.max(...window.map(({ position }) => position))
  return (window.at(-1)?.position ?? furthest) < furthest
}

const pairs = <T>(items: readonly T[]): [T, T][] =>
  items.slice(1).map((item, index) => [items[index] ?? item, item])
