import type { TailRecord } from '../../../kafka/tables/tail.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { REJECTED } from '../../../schemas/topics.ts'
import { attemptResponse } from '../attempts.ts'
import type { Decode } from '../records/following.ts'
import { printCall, rejectedJson, type WriteKeys } from './call-json.ts'
import { type Channel, createChannels } from './channel.ts'
import { createRecent, type RawCall, rawOf, sourceOf } from './recent-calls.ts'
import { sse, sseOf, type Watcher } from './watcher.ts'

type Receiver = Pick<Watcher, 'send' | 'end'>

/** All sources. No source has this id. */
export const ALL = ''

export type LiveCalls = {
  call(record: TailRecord): void
  attempt(attempt: Attempt): void
  /** Earlier calls are recent ones, which are not sent as new. */
  begin(): void
  /** Sends recent calls with their attempts, then new ones. Call `begin` first. */
  join(watched: string, watcher: Receiver): void
  leave(watched: string, watcher: Receiver): void
  /** Call it regularly. */
  reportSkipped(): void
  /** Ends the streams of deleted sources. Call it regularly. */
  endDeleted(): void
}

export type LiveCallsParts = {
  sources: ReadonlyMap<string, WriteKeys>
  attemptsOf: (messageId: string) => Iterable<Attempt>
  decodeEvent: Decode<Event>
  decodeRejected: Decode<Rejected>
  now: () => number
  onSkipped: (calls: number) => void
}

export function createLiveCalls(parts: LiveCallsParts): LiveCalls {
  const { sources, now, onSkipped } = parts
  const recent = createRecent()
  const channels = createChannels()
  let isLive = false

  function show(watched: string, raw: RawCall): void {
    const channel = channels.of(watched)
    recent.add(watched, raw)
    if (channel.watchers.size === 0) return
    function send(message: string, messageId?: string): void {
      channel.send(message)
      // an attempt may arrive before its call
      if (messageId !== undefined && channel.markShown(messageId))
        for (const known of renderAttempts(watched, [messageId], parts)) channel.send(known)
    }
    renderCall({ watched, raw, onRendered: send }, parts)
  }

  return {
    begin() {
      isLive = true
    },

    call(record) {
      const sourceId = record.key ? sourceOf(record.key) : ''
      if (!sources.has(sourceId) || record.value === null) return
      const admitting = [sourceId, ALL].filter(
        (watched) => !isLive || channels.of(watched).admits(record, now()),
      )
      if (admitting.length === 0) return
      const raw = rawOf(record, sourceId)
      for (const watched of admitting) show(watched, raw)
    },

    attempt(attempt) {
      for (const watched of [attempt.sourceId, ALL]) {
        const channel = channels.get(watched)
        if (channel && channel.watchers.size > 0 && channel.isShown(attempt.messageId))
          channel.send(sse('attempt', attemptResponse(attempt)))
      }
    },

    join(watched, watcher) {
      const channel = channels.of(watched)
      sendRecent({ watched, watcher, channel, calls: recent.of(watched) }, parts)
      channel.watchers.add(watcher)
    },

    leave: (watched, watcher) => void channels.get(watched)?.watchers.delete(watcher),

    reportSkipped() {
      for (const channel of channels.values()) onSkipped(channel.reportSkipped())
    },

    endDeleted() {
      for (const [watched, channel] of channels.entries())
        if (watched !== ALL && !sources.has(watched)) channel.end(watched)
    },
  }
}

type Joining = { watched: string; watcher: Receiver; channel: Channel; calls: readonly RawCall[] }

function sendRecent({ watched, watcher, channel, calls }: Joining, parts: LiveCallsParts): void {
  const messageIds = new Set<string>()
  let isCollecting = true
  function send(message: string, messageId?: string): void {
    watcher.send(message)
    if (messageId === undefined || messageIds.has(messageId)) return
    channel.markShown(messageId)
    messageIds.add(messageId)
    // decoded later, because its schema had to be fetched
    if (!isCollecting) for (const known of renderAttempts(watched, [messageId], parts)) watcher.send(known)
  }
  for (const raw of calls) renderCall({ watched, raw, onRendered: send }, parts)
  isCollecting = false
  for (const message of renderAttempts(watched, [...messageIds], parts)) watcher.send(message)
  // clients wait for `ready`, and the messages before it may fill the buffer
  watcher.send(sse('ready', { calls: calls.length }), 'always')
}

type OnRendered = (message: string, messageId?: string) => void
type Rendering = { watched: string; raw: RawCall; onRendered: OnRendered }

/** Decodes a call, possibly later. `ALL` adds `sourceId` to each call. */
function renderCall({ watched, raw, onRendered }: Rendering, parts: LiveCallsParts): void {
  const { sources, decodeEvent, decodeRejected } = parts
  const id = `${raw.topic}/${raw.partition}/${raw.offset}`
  const { sourceId } = raw
  const of = watched === ALL ? { sourceId } : {}
  if (raw.topic === REJECTED)
    decodeRejected(raw.value, (rejected) =>
      onRendered(sse('rejected', { ...of, ...rejectedJson(rejected, sources.get(sourceId)) }, id)),
    )
  else decodeEvent(raw.value, (event) => onRendered(sseOf('call', printCall(event, of), id), event.messageId))
}

/** Many calls may share a messageId. All their attempts would fill the watcher's buffer and leave no room for `ready`. */
const MAX_FIRST_ATTEMPTS = 1_000

/** The latest ones, oldest first. */
function renderAttempts(
  watched: string,
  messageIds: readonly string[],
  { attemptsOf }: Pick<LiveCallsParts, 'attemptsOf'>,
): string[] {
  return messageIds
    .flatMap((messageId) => [...attemptsOf(messageId)])
    .filter(({ sourceId }) => watched === ALL || sourceId === watched)
    .sort((one, other) => one.startedAt - other.startedAt)
    .slice(-MAX_FIRST_ATTEMPTS)
    .map((attempt) => sse('attempt', attemptResponse(attempt)))
}
