import type { Gap } from '../../../../cli/api/missed-calls.ts'
import type { Attempt, Call, RejectedCall, Skipped } from '../../api/live.ts'

type RowOf<Kind> = { id: string; at: string; kind: Kind }

export type CallRow =
  | (RowOf<'call'> & { call: Call; attempts: readonly Attempt[] })
  | (RowOf<'rejected'> & { rejected: RejectedCall })

/** Marks that calls may be missing between the rows above and below. */
export type MissedRow = RowOf<'missed'> & { gap: Gap }

export type Row = CallRow | MissedRow

export type FeedEvent =
  | { name: 'call'; data: Call; id: string }
  | { name: 'rejected'; data: RejectedCall; id: string }
  | { name: 'attempt'; data: Attempt; id: string }
  | { name: 'ready'; data: unknown; id: string }
  | { name: 'skipped'; data: Skipped; id: string }
  | { name: 'missed'; data: Gap; id: string }

export type Feed = {
  /** Newest first. */
  rows: readonly Row[]
  /** Opened by the user. These rows stay when the feed is full. */
  opened: ReadonlySet<string>
  isReady: boolean
  skipped: number
  /** Events received while paused; undefined if the feed is not paused. */
  waiting: readonly FeedEvent[] | undefined
}

export type FeedAction =
  | { type: 'events'; events: readonly FeedEvent[] }
  | { type: 'pause' }
  | { type: 'toggle'; id: string }

export const EMPTY_FEED: Feed = {
  rows: [],
  opened: new Set(),
  isReady: false,
  skipped: 0,
  waiting: undefined,
}
const MAX_ROWS = 200
const MAX_WAITING = 2_000

export function reduceFeed(feed: Feed, action: FeedAction): Feed {
  switch (action.type) {
    case 'events':
      if (!feed.waiting) return withEvents(feed, action.events)
      return { ...feed, waiting: [...feed.waiting, ...action.events].slice(-MAX_WAITING) }
    case 'pause':
      return feed.waiting
        ? withEvents({ ...feed, waiting: undefined }, feed.waiting)
        : { ...feed, waiting: [] }
    case 'toggle':
      return { ...feed, opened: toggled(feed.opened, action.id) }
  }
}

/** Counts calls received while paused, except those that a reconnected stream repeats. */
export function newCalls({ rows, waiting = [] }: Pick<Feed, 'rows' | 'waiting'>): number {
  const known = new Set(rows.map(({ id }) => id))
  const calls = waiting.filter(({ name, id }) => (name === 'call' || name === 'rejected') && !known.has(id))
  return new Set(calls.map(({ id }) => id)).size
}

function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids)
  if (!next.delete(id)) next.add(id)
  return next
}

/** A reconnected stream repeats the latest calls with the same ids. */
function withEvents(feed: Feed, events: readonly FeedEvent[]): Feed {
  const known = new Set(feed.rows.map(({ id }) => id))
  const added: Row[] = []
  const attempts: Attempt[] = []
  let { isReady, skipped } = feed
  for (const { name, data, id } of events) {
    if (name === 'ready') isReady = true
    else if (name === 'skipped') skipped += data.count
    else if (name === 'attempt') attempts.push(data)
    else if (!known.has(id)) {
      known.add(id)
      if (name === 'call') added.push({ kind: name, id, at: data.receivedAt, call: data, attempts: [] })
      else if (name === 'rejected') added.push({ kind: name, id, at: data.receivedAt, rejected: data })
      else added.push({ kind: name, id, at: data.since ?? '', gap: data })
    }
  }
  return { ...feed, isReady, skipped, rows: withAttempts(withRows(feed, added), attempts) }
}

function withRows({ rows, opened }: Feed, added: readonly Row[]): readonly Row[] {
  if (added.length === 0) return rows
  return [...rows, ...added].sort(newestFirst).filter(({ id }, index) => index < MAX_ROWS || opened.has(id))
}

/** A gap has the time of the last call before it, and comes after that call. */
const newestFirst = (one: Row, other: Row): number =>
  one.at === other.at
    ? Number(other.kind === 'missed') - Number(one.kind === 'missed')
    : one.at < other.at
      ? 1
      : -1

function withAttempts(rows: readonly Row[], attempts: readonly Attempt[]): readonly Row[] {
  if (attempts.length === 0) return rows
  const byMessage = Map.groupBy(attempts, ({ messageId }) => messageId)
  return rows.map((row) => {
    const added = row.kind === 'call' ? byMessage.get(row.call.messageId) : undefined
    return added && row.kind === 'call' ? { ...row, attempts: merged(row.attempts, added) } : row
  })
}

const merged = (known: readonly Attempt[], more: readonly Attempt[]): Attempt[] => [
  ...new Map([...known, ...more].map((attempt) => [keyOf(attempt), attempt])).values(),
]

const keyOf = ({ deliveryId, attempt, urlIndex, startedAt, outcome }: Attempt) =>
  [deliveryId, attempt, urlIndex, startedAt, outcome].join(' ')

/** Per destination: a delivered one, or else the latest by time, because a replay counts its attempts from 1 again. */
export function latestAttempts(attempts: readonly Attempt[]): Attempt[] {
  const last = new Map<string, Attempt>()
  for (const attempt of attempts) {
    const known = last.get(attempt.destinationId)
    if (!known || isNewer(attempt, known)) last.set(attempt.destinationId, attempt)
  }
  // in the same order in every row
  return [...last.values()].sort((one, other) => (one.destinationId < other.destinationId ? -1 : 1))
}

const MAX_DESTINATIONS = 8

/** At most MAX_DESTINATIONS, first those that have not received the event. */
export function attemptsInRow(attempts: readonly Attempt[]): { shown: Attempt[]; others: number } {
  const latest = latestAttempts(attempts)
  if (latest.length <= MAX_DESTINATIONS) return { shown: latest, others: 0 }
  const isDelivered = ({ outcome }: Attempt) => outcome === 'delivered'
  const sorted = latest.toSorted((one, other) => Number(isDelivered(one)) - Number(isDelivered(other)))
  return { shown: sorted.slice(0, MAX_DESTINATIONS), others: latest.length - MAX_DESTINATIONS }
}

function isNewer(attempt: Attempt, known: Attempt): boolean {
  if (known.outcome === 'delivered') return false
  return attempt.outcome === 'delivered' || (known.startedAt ?? '') <= (attempt.startedAt ?? '')
}
