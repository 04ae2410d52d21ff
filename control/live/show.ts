import type { TailRecord } from '../../kafka/tail.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import type { Event } from '../../schemas/event.ts'
import type { Rejected } from '../../schemas/rejected.ts'
import type { Source } from '../../schemas/settings.ts'
import { REJECTED } from '../../schemas/topics.ts'
import { shownAttempt } from '../attempts/shown.ts'
import type { Decode } from '../newest/decode.ts'
import { type Channel, createChannel } from './channel.ts'
import { type RawCall, rawOf, sourceOf } from './raw.ts'
import { createRecent } from './recent.ts'
import { shownCall, shownRejected } from './shown.ts'
import { sse } from './sse.ts'
import type { Watcher } from './watcher.ts'

type Receiver = Pick<Watcher, 'send'>

/** The calls of all sources, and who watches those of one. */
export type Show = {
  /** A call of some source, in the order of its partition. */
  call(record: TailRecord): void
  attempt(attempt: Attempt): void
  /** From now on a call is a new one; those before were the last ones, of which nobody has been told yet. */
  begin(): void
  /** Shows the last calls and what became of them, and from then on what comes. Not before it has begun. */
  join(sourceId: string, watcher: Receiver): void
  leave(sourceId: string, watcher: Receiver): void
  /** Says to all who watch how many calls were left out; to be called now and then. */
  tellSkipped(): void
}

export type ShowParts = {
  sources: ReadonlyMap<string, Pick<Source, 'writeKey'>>
  /** Those that are known, oldest first. */
  attempts: () => readonly { attempt: Attempt }[]
  decodeEvent: Decode<Event>
  decodeRejected: Decode<Rejected>
  /** Milliseconds of a monotonic clock. */
  now: () => number
  onSkipped: (calls: number) => void
}

type OnShown = (message: string, messageId?: string) => void

export function createShow(parts: ShowParts): Show {
  const { sources, attempts, decodeEvent, decodeRejected, now, onSkipped } = parts
  const recent = createRecent()
  const channels = new Map<string, Channel>()
  let hasBegun = false

  function channelOf(sourceId: string): Channel {
    const found = channels.get(sourceId) ?? createChannel()
    channels.set(sourceId, found)
    return found
  }

  function tell(sourceId: string, raw: RawCall, onShown: OnShown): void {
    const id = `${raw.topic}/${raw.partition}/${raw.offset}`
    if (raw.topic === REJECTED)
      decodeRejected(raw.value, (rejected) =>
        onShown(sse('rejected', shownRejected(rejected, sources.get(sourceId)?.writeKey), id)),
      )
    else decodeEvent(raw.value, (event) => onShown(sse('call', shownCall(event), id), event.messageId))
  }

  function* attemptsOf(sourceId: string, messageIds: ReadonlySet<string>): Generator<string> {
    for (const { attempt } of attempts())
      if (attempt.sourceId === sourceId && messageIds.has(attempt.messageId))
        yield sse('attempt', shownAttempt(attempt))
  }

  return {
    begin() {
      hasBegun = true
    },

    call(record) {
      const sourceId = record.key ? sourceOf(record.key) : ''
      if (!sources.has(sourceId) || record.value === null) return
      const channel = channelOf(sourceId)
      if (hasBegun && !channel.takes(record, now())) return
      const raw = rawOf(record)
      recent.add(sourceId, raw)
      if (channel.watchers.size === 0) return
      tell(sourceId, raw, (message, messageId) => {
        channel.send(message)
        // a fast receiver's answer may have come before the call itself
        if (messageId !== undefined && channel.showsFirst(messageId))
          for (const known of attemptsOf(sourceId, new Set([messageId]))) channel.send(known)
      })
    },

    attempt(attempt) {
      const channel = channels.get(attempt.sourceId)
      if (channel && channel.watchers.size > 0 && channel.isShown(attempt.messageId))
        channel.send(sse('attempt', shownAttempt(attempt)))
    },

    join(sourceId, watcher) {
      const channel = channelOf(sourceId)
      const messageIds = new Set<string>()
      const last = recent.of(sourceId)
      for (const raw of last)
        tell(sourceId, raw, (message, messageId) => {
          watcher.send(message)
          if (messageId === undefined) return
          channel.showsFirst(messageId)
          messageIds.add(messageId)
        })
      for (const message of attemptsOf(sourceId, messageIds)) watcher.send(message)
      watcher.send(sse('ready', { calls: last.length }))
      channel.watchers.add(watcher)
    },

    leave: (sourceId, watcher) => void channels.get(sourceId)?.watchers.delete(watcher),

    tellSkipped() {
      for (const channel of channels.values()) onSkipped(channel.tellSkipped())
    },
  }
}
