/** How it stands with a task that fails: how often it has, for how long it has waited in all, and until when it waits. In ms. */
export type Trouble = { failures: number; waited: number; until: number }

const FIRST_MS = 1_000
const LONGEST_MS = 5 * 60_000
/** Of waiting, over all tries: what has not passed by then does not pass by itself. */
export const GIVE_UP_MS = 6 * 3_600_000

/** Waits twice as long each time. */
export function afterFailure(
  { failures, waited }: Pick<Trouble, 'failures' | 'waited'>,
  now: number,
): Trouble {
  const wait = Math.min(FIRST_MS * 2 ** failures, LONGEST_MS)
  return { failures: failures + 1, waited: waited + wait, until: now + wait }
}
