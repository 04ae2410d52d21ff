import type { Attempt, Call, RejectedCall, Skipped } from '../../api/live.ts'

export type Row = { id: string; at: string } & (
  | { kind: 'call'; call: Call; attempts: readonly Attempt[] }
  | { kind: 'rejected'; rejected: RejectedCall }
)

export type Told =
  | { name: 'call'; data: Call; id: string }
  | { name: 'rejected'; data: RejectedCall; id: string }
  | { name: 'attempt'; data: Attempt; id: string }
  | { name: 'ready'; data: unknown; id: string }
  | { name: 'skipped'; data: Skipped; id: string }

export type Live = {
  /** Newest first. */
  rows: readonly Row[]
  /** Those that somebody has opened: they stay, however much comes. */
  opened: ReadonlySet<string>
  isReady: boolean
  skipped: number
  /** What came while it was paused; undefined: it goes on. */
  waiting: readonly Told[] | undefined
}

export type Did =
  | { did: 'told'; messages: readonly Told[] }
  | { did: 'pause' }
  | { did: 'toggle'; id: string }

export const NOTHING: Live = {
  rows: [],
  opened: new Set(),
  isReady: false,
  skipped: 0,
  waiting: undefined,
}
const MOST = 200
/** Of messages that wait: those of a source that is as busy as is shown, for some seconds. */
const MOST_WAITING = 2_000

export function after(live: Live, what: Did): Live {
  switch (what.did) {
    case 'told':
      if (!live.waiting) return withMessages(live, what.messages)
      return { ...live, waiting: [...live.waiting, ...what.messages].slice(-MOST_WAITING) }
    case 'pause':
      return live.waiting
        ? withMessages({ ...live, waiting: undefined }, live.waiting)
        : { ...live, waiting: [] }
    case 'toggle':
      return { ...live, opened: toggled(live.opened, what.id) }
  }
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids)
  if (!next.delete(id)) next.add(id)
  return next
}

/** A stream that comes again tells the last calls again, under the same ids. */
function withMessages(live: Live, messages: readonly Told[]): Live {
  const known = new Set(live.rows.map(({ id }) => id))
  const added: Row[] = []
  const attempts: Attempt[] = []
  let { isReady, skipped } = live
  for (const { name, data, id } of messages) {
    if (name === 'ready') isReady = true
    else if (name === 'skipped') skipped += data.count
    else if (name === 'attempt') attempts.push(data)
    else if ((name === 'call' || name === 'rejected') && !known.has(id)) {
      known.add(id)
      added.push(
        name === 'call'
          ? { kind: name, id, at: data.receivedAt, call: data, attempts: [] }
          : { kind: name, id, at: data.receivedAt, rejected: data },
      )
    }
  }
  return { ...live, isReady, skipped, rows: withAttempts(withRows(live, added), attempts) }
}

function withRows({ rows, opened }: Live, added: readonly Row[]): readonly Row[] {
  if (added.length === 0) return rows
  return [...rows, ...added]
    .sort((one, other) => (one.at === other.at ? 0 : one.at < other.at ? 1 : -1))
    .filter(({ id }, index) => index < MOST || opened.has(id))
}

function withAttempts(rows: readonly Row[], attempts: readonly Attempt[]): readonly Row[] {
  if (attempts.length === 0) return rows
  const byMessage = Map.groupBy(attempts, ({ messageId }) => messageId)
  return rows.map((row) => {
    const its = row.kind === 'call' ? byMessage.get(row.call.messageId) : undefined
    return its && row.kind === 'call' ? { ...row, attempts: each(row.attempts, its) } : row
  })
}

/** Each once. */
const each = (known: readonly Attempt[], more: readonly Attempt[]): Attempt[] => [
  ...new Map([...known, ...more].map((attempt) => [keyOf(attempt), attempt])).values(),
]

const keyOf = ({ deliveryId, attempt, urlIndex, startedAt, outcome }: Attempt) =>
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
