import type { Sync } from '../../schemas/task.ts'

/** What is known, or told, of one user: a value as JSON, or `null` for none. */
export type Change = { userId: string; value: string | null }

type Sides = {
  /** By user: what receivers were told last. */
  current: ReadonlyMap<string, string>
  /** By user: what the upload says. */
  listed: ReadonlyMap<string, string | null>
  others: Sync['others']
}

/** What is different in an upload from what was there; whoever is as before is left out (docs/users.md, "Tell of an audience"). */
export function* diff({ current, listed, others }: Sides): Generator<Change> {
  for (const [userId, value] of listed) if ((current.get(userId) ?? null) !== value) yield { userId, value }
  if (others !== 'removed') return
  for (const userId of current.keys()) if (!listed.has(userId)) yield { userId, value: null }
}
