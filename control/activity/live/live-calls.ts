import type { TailRecord } from '../../../kafka/tables/tail.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { REJECTED } from '../../../schemas/topics.ts'
import { attemptResponse } from '../attempts.ts'
import { printCall, rejectedJson, type WriteKeys } from '../records/call-json.ts'
import type { Decode } from '../records/following.ts'
import { sourceOf } from '../records/subject.ts'
import { sse, sseOf } from '../stream/watcher.ts'
import { ALL, type Channel, createChannels, type Receiver } from './channel.ts'
import { createRecent, type RawCall, rawOf } from './recent-calls.ts'

export type LiveCalls = {
  call(record: TailRecord): void
  attempt(attempt: Attempt): void
  /** Earlier calls are recent ones, which are not sent as new. */
  begin(): void
  /** Sends recent calls with their attempts, then new ones. Call `begin` first. */
  join(channelId: string, watcher: Receiver): void
  leave(channelId: string, watcher: Receiver): void
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

  return {
    begin() {
      isLive = true
    },

    call(record) {
      const sourceId = record.key ? sourceOf(record.key) : ''
      if (!sources.has(sourceId) || record.value === null) return
      const admitting = [channels.of(sourceId), channels.of(ALL)].filter(
        (channel) => !isLive || channel.admits(record, now()),
      )
      if (admitting.length === 0) return
      const raw = rawOf(record, sourceId)
      for (const channel of admitting) {
        recent.add(channel.id, raw)
        if (channel.watchers.size > 0) sendNew(raw, channel, parts)
      }
    },

    attempt(attempt) {
      for (const id of [attempt.sourceId, ALL]) {
        const channel = channels.get(id)
        if (channel && channel.watchers.size > 0 && channel.isShown(attempt.messageId))
          channel.send(sse('attempt', attemptResponse(attempt)))
      }
    },

    join(channelId, watcher) {
      const channel = channels.of(channelId)
      sendRecent({ watcher, channel, calls: recent.of(channelId) }, parts)
      channel.watchers.add(watcher)
    },

    leave: (channelId, watcher) => void channels.get(channelId)?.watchers.delete(watcher),

    reportSkipped() {
      for (const channel of channels.all()) onSkipped(channel.reportSkipped())
    },

    endDeleted() {
      for (const channel of channels.all()) if (channel.id !== ALL && !sources.has(channel.id)) channel.end()
    },
  }
}

function sendNew(raw: RawCall, channel: Channel, parts: LiveCallsParts): void {
  renderCall({ raw, channel, onRendered: send }, parts)

  function send(message: string, messageId?: string): void {
    channel.send(message)
    // an attempt may arrive before its call
    if (messageId !== undefined && channel.markShown(messageId))
      for (const known of renderAttempts([messageId], channel, parts)) channel.send(known)
  }
}

type Joining = { watcher: Receiver; channel: Channel; calls: readonly RawCall[] }

function sendRecent({ watcher, channel, calls }: Joining, parts: LiveCallsParts): void {
  const messageIds = new Set<string>()
  let isCollecting = true
  function send(message: string, messageId?: string): void {
    watcher.send(message)
    if (messageId === undefined || messageIds.has(messageId)) return
    channel.markShown(messageId)
    messageIds.add(messageId)
    // decoded later, because its schema had to be fetched
    if (!isCollecting) for (const known of renderAttempts([messageId], channel, parts)) watcher.send(known)
  }
  for (const raw of calls) renderCall({ raw, channel, onRendered: send }, parts)
  isCollecting = false
  for (const message of renderAttempts([...messageIds], channel, parts)) watcher.send(message)
  // clients wait for `ready`, and the messages before it may fill the buffer
  watcher.send(sse('ready', { calls: calls.length }), 'always')
}

type Rendering = {
  raw: RawCall
  channel: Pick<Channel, 'id'>
  onRendered: (message: string, messageId?: string) => void
}

/** Decodes a call, possibly later. The channel of all sources adds `sourceId` to each call. */
function renderCall({ raw, channel, onRendered }: Rendering, parts: LiveCallsParts): void {
  const { sources, decodeEvent, decodeRejected } = parts
  const id = `${raw.topic}/${raw.partition}/${raw.offset}`
  const { sourceId } = raw
  const of = channel.id === ALL ? { sourceId } : {}
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
  messageIds: readonly string[],
  { id }: Pick<Channel, 'id'>,
  { attemptsOf }: Pick<LiveCallsParts, 'attemptsOf'>,
): string[] {
  return messageIds
    .flatMap((messageId) => [...attemptsOf(messageId)])
    .filter(({ sourceId }) => id === ALL || sourceId === id)
    .sort((one, other) => one.startedAt - other.startedAt)
    .slice(-MAX_FIRST_ATTEMPTS)
    .map((attempt) => sse('attempt', attemptResponse(attempt)))
}
