import type { Attempt, Call, RejectedCall, Skipped } from '../../api/live.ts'

export type Row = { id: string; at: string } & (
  | { kind: 'call'; call: Call; attempts: readonly Attempt[] }
  | { kind: 'rejected'; rejected: RejectedCall }
)

/** Newest first. */
export type Live = { rows: readonly Row[]; isReady: boolean; skipped: number }

export type Told =
  | { name: 'call'; data: Call; id: string }
  | { name: 'rejected'; data: RejectedCall; id: string }
  | { name: 'attempt'; data: Attempt; id: string }
  | { name: 'ready'; data: unknown; id: string }
  | { name: 'skipped'; data: Skipped; id: string }

export const NOTHING: Live = { rows: [], isReady: false, skipped: 0 }
const MOST = 200

/** What is shown, one message later. A stream that comes again tells the last calls again, under the same ids. */
export function told(live: Live, { name, data, id }: Told): Live {
  switch (name) {
    case 'ready':
      return { ...live, isReady: true }
    case 'skipped':
      return { ...live, skipped: live.skipped + data.count }
    case 'attempt':
      return { ...live, rows: live.rows.map((row) => withAttempt(row, data)) }
    case 'call':
      return withRow(live, { kind: 'call', id, at: data.receivedAt, call: data, attempts: [] })
    case 'rejected':
      return withRow(live, { kind: 'rejected', id, at: data.receivedAt, rejected: data })
  }
}

function withRow(live: Live, row: Row): Live {
  if (live.rows.some(({ id }) => id === row.id)) return live
  const rows = [...live.rows, row].sort((one, other) => (one.at < other.at ? 1 : -1))
  return { ...live, rows: rows.slice(0, MOST) }
}

function withAttempt(row: Row, attempt: Attempt): Row {
  if (row.kind !== 'call' || row.call.messageId !== attempt.messageId) return row
  const isKnown = row.attempts.some((known) => keyOf(known) === keyOf(attempt))
  return isKnown ? row : { ...row, attempts: [...row.attempts, attempt] }
}

export const keyOf = ({ deliveryId, attempt, urlIndex, startedAt, outcome }: Attempt) =>
  [deliveryId, attempt, urlIndex, startedAt, outcome].join(' ')

/** The last attempt of each destination; of several POSTs at once one that was delivered counts most. */
export function upshots(attempts: readonly Attempt[]): Attempt[] {
  const last = new Map<string, Attempt>()
  for (const attempt of attempts) {
    const known = last.get(attempt.destinationId)
    if (!known || (known.outcome !== 'delivered' && known.attempt <= attempt.attempt))
      last.set(attempt.destinationId, attempt)
  }
  return [...last.values()]
}
