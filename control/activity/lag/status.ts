import { z } from 'zod'

/**
 * `warn`: it falls behind. `stall`: its consumer makes no progress. `stop`: it has no consumer. `rewind`: it was set
 * back.
 */
const STATUSES = ['ok', 'warn', 'stall', 'stop', 'rewind'] as const

export type LagItem = z.infer<typeof lagItemShape>

export const lagItemShape = z
  .strictObject({
    group: z.string(),
    topic: z.string(),
    partition: z.number(),
    end: z
      .number()
      .describe('Offset after the last record; for a replay, after the last record that it will read.'),
    committed: z.number().nullable().describe('Null: nothing committed yet.'),
    lag: z
      .number()
      .describe(
        'Offsets from the committed one (or the first remaining one) to the end. Records settled out of order count until the gap before them closes.',
      ),
    lagSeconds: z
      .number()
      .nullable()
      .describe(
        'Age of the oldest unsettled record; on a rung, how long it is past due. Null: unknown, or a replay, whose records are old anyway.',
      ),
    status: z
      .enum(STATUSES)
      .describe(
        'Based on the last 20 s, or twice RESPONSE_TIMEOUT if that is longer. `warn`: falls behind; `stall`: has a consumer, but makes no progress; `stop`: has no consumer; `rewind`: was set back.',
      ),
  })
  .meta({ id: 'Lag' })

export type Status = (typeof STATUSES)[number]

export type Observation = {
  /** Where the group would continue. */
  position: number
  /** Records that existed and were due at the previous observation, and are not settled yet. */
  behind: number
  /** Since the previous observation. */
  committed: boolean
  owned: boolean
}

/**
 * The rules of Burrow (https://github.com/linkedin/Burrow/wiki/Consumer-Lag-Evaluation-Rules, and its evaluator for
 * `rewind`). Our consumers commit only when an offset changes. So, unlike in Burrow, a member that has the partition
 * counts as alive without commits. Records that arrived since the last observation do not count as lag.
 * @param window oldest first. With fewer than `observations`, only `ok` and `rewind` are possible.
 */
export function statusOf(window: readonly Observation[], observations: number): Status {
  const last = window.at(-1)
  if (!last || last.behind === 0) return 'ok'
  const isBehindAllAlong = window.length >= observations && window.every(({ behind }) => behind > 0)
  if (isBehindAllAlong && !last.owned && window.every(({ committed }) => !committed)) return 'stop'
  if (isRewound(window)) return 'rewind'
  if (!isBehindAllAlong) return 'ok'
  if (window.every(({ position }) => position === last.position)) return 'stall'
  return pairs(window).every(([before, after]) => after.behind >= before.behind) ? 'warn' : 'ok'
}

/** Applies even if the group was not behind all along. Ends once it is back where it was. */
function isRewound(window: readonly Observation[]): boolean {
  const furthest = Math.max(...window.map(({ position }) => position))
  return (window.at(-1)?.position ?? furthest) < furthest
}

const pairs = <T>(items: readonly T[]): [T, T][] =>
  items.slice(1).map((item, index) => [items[index] ?? item, item])
