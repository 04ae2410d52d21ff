import type { StreamState } from './follow.ts'

/** What a stream has told of each of its things last. `away`: those of which nothing can be said now. */
export type Heard<T> = { told: Partial<T>; away: readonly string[]; toldAt: string | undefined }

/** `at`: when it came, in ISO 8601. */
export type Message = { name: string; data: unknown; at: string }

/** Whether what is shown is of now. `toldAt`: ISO 8601, when anything was told last. */
export type Freshness = { state: StreamState; isAway: boolean; toldAt: string | undefined }

export const NOTHING = { told: {}, away: [], toldAt: undefined }

export function heard<T>({ told, away, toldAt }: Heard<T>, { name, data, at }: Message): Heard<T> {
  // docs/reference/health.md
  if (name === 'unavailable') {
    const { event } = data as { event: string }
    return { told, toldAt, away: away.includes(event) ? away : [...away, event] }
  }
  // a message has the name of what it tells
  return { told: { ...told, [name]: data }, away: away.filter((one) => one !== name), toldAt: at }
}
