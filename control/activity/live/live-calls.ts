import type { TailRecord } from '../../../kafka/tables/tail.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { REJECTED } from '../../../schemas/topics.ts'
import type { Source } from '../../../settings/settings.ts'
import { attemptResponse } from '../attempts.ts'
import type { Decode } from '../following.ts'
import { callJson, rejectedJson } from './call-json.ts'
import { type Channel, createChannel } from './channel.ts'
import { createRecent, type RawCall, rawOf, sourceOf } from './recent-calls.ts'
import { sse, type Watcher } from './watcher.ts'

type Receiver = Pick<Watcher, 'send'>

/** Stands for all sources. No source has this id. */
export const ALL = ''

/** Passes the calls of all sources to their watchers. */
export type LiveCalls = {
  /** Handles a call of any source, in the order of its partition. */
  call(record: TailRecord): void
  attempt(attempt: Attempt): void
  /** Ends the initial phase: calls before it are recent ones, which nobody is sent as new. */
  begin(): void
  /** Sends recent calls with their attempts, then new ones. Call `begin` first. */
  join(watched: string, watcher: Receiver): void
  leave(watched: string, watcher: Receiver): void
  /** Reports to all watchers how many calls were left out. Call it regularly. */
  reportSkipped(): void
}

export type LiveCallsParts = {
  sources: ReadonlyMap<string, Pick<Source, 'writeKey'>>
  /** Known attempts for a message, of any source. */
  attemptsOf: (messageId: string) => Iterable<Attempt>
  decodeEvent: Decode<Event>
  decodeRejected: Decode<Rejected>
  /** Milliseconds of a monotonic clock. */
  now: () => number
  onSkipped: (calls: number) => void
}

type OnShown = (message: string, messageId?: string) => void

export function createLiveCalls(parts: LiveCallsParts): LiveCalls {
  const { sources, decodeEvent, decodeRejected, now, onSkipped } = parts
  const recent = createRecent()
  const channels = new Map<string, Channel>()
  let hasBegun = false

  function channelOf(sourceId: string): Channel {
    const found = channels.get(sourceId) ?? createChannel()
    channels.set(sourceId, found)
    return found
  }

  /** @param watched a source, or `ALL`, which adds `sourceId` to each call. */
  function tell(watched: string, raw: RawCall, onShown: OnShown): void {
    const id = `${raw.topic}/${raw.partition}/${raw.offset}`
    const { sourceId } = raw
    const of = watched === ALL ? { sourceId } : {}
    if (raw.topic === REJECTED)
      decodeRejected(raw.value, (rejected) =>
        onShown(sse('rejected', { ...of, ...rejectedJson(rejected, sources.get(sourceId)?.writeKey) }, id)),
      )
    else
      decodeEvent(raw.value, (event) =>
        onShown(sse('call', { ...of, ...callJson(event) }, id), event.messageId),
      )
  }

  /** Oldest first. */
  function attemptsOf(watched: string, messageIds: readonly string[]): string[] {
    return messageIds
      .flatMap((messageId) => [...parts.attemptsOf(messageId)])
      .filter(({ sourceId }) => watched === ALL || sourceId === watched)
      .sort((one, other) => one.startedAt - other.startedAt)
      .map((attempt) => sse('attempt', attemptResponse(attempt)))
  }

  function show(watched: string, raw: RawCall): void {
    const channel = channelOf(watched)
    recent.add(watched, raw)
    if (channel.watchers.size === 0) return
    tell(watched, raw, (message, messageId) => {
      channel.send(message)
      // a fast receiver's attempt may arrive before the call itself
      if (messageId !== undefined && channel.markShown(messageId))
        for (const known of attemptsOf(watched, [messageId])) channel.send(known)
    })
  }

  return {
    begin() {
      hasBegun = true
    },

    call(record) {
      const sourceId = record.key ? sourceOf(record.key) : ''
      if (!sources.has(sourceId) || record.value === null) return
      const taking = [sourceId, ALL].filter(
        (watched) => !hasBegun || channelOf(watched).admits(record, now()),
      )
      if (taking.length === 0) return
      const raw = rawOf(record, sourceId)
      for (const watched of taking) show(watched, raw)
    },

    attempt(attempt) {
      for (const watched of [attempt.sourceId, ALL]) {
        const channel = channels.get(watched)
        if (channel && channel.watchers.size > 0 && channel.isShown(attempt.messageId))
          channel.send(sse('attempt', attemptResponse(attempt)))
      }
    },

    join(watched, watcher) {
      const channel = channelOf(watched)
      const messageIds = new Set<string>()
      const last = recent.of(watched)
      for (const raw of last)
        tell(watched, raw, (message, messageId) => {
          watcher.send(message)
          if (messageId === undefined) return
          channel.markShown(messageId)
          messageIds.add(messageId)
        })
      for (const message of attemptsOf(watched, [...messageIds])) watcher.send(message)
      watcher.send(sse('ready', { calls: last.length }))
      channel.watchers.add(watcher)
    },

    leave: (watched, watcher) => void channels.get(watched)?.watchers.delete(watcher),

    reportSkipped() {
      for (const channel of channels.values()) onSkipped(channel.reportSkipped())
    },
  }
}
