import { Readable } from 'node:stream'
import { REJECTED } from '../../../schemas/topics.ts'

/** Who watches a source, as a stream of server-sent events that may be read slowly, or not at all. */
export type Watcher = {
  stream: Readable
  /** Sends it, or counts it as skipped when too much waits already. */
  send(message: string): void
  end(): void
  isClosed(): boolean
}

export type WatcherOptions = {
  onSkipped: (messages: number) => void
  /** Told once, whoever ends it. */
  onClosed: () => void
  heartbeatMs?: number
}

/** The last fifty calls, each as long as they are shown, come at once. */
const MOST_WAITING = 2 * 1024 * 1024
/** Below this there is room again. */
const FEW_WAITING = 64 * 1024
const HEARTBEAT_MS = 15_000
/** So many heartbeats in a row that find somebody who has taken nothing although there was something: nobody is there. */
const PATIENCE = 4
/** For so long what waits may still be read at the end. */
const LAST_WORDS_MS = 1_000

export function openWatcher(options: WatcherOptions): Watcher {
  const { onSkipped, onClosed, heartbeatMs = HEARTBEAT_MS } = options
  let skipped = 0
  let isTaken = true
  let inVain = 0
  let ended = false

  const stream = new Readable({
    highWaterMark: FEW_WAITING,
    read() {
      isTaken = true
      if (skipped === 0 || ended) return
      const count = skipped
      skipped = 0
      stream.push(sse('skipped', { count, reason: 'slow' }))
    },
  })

  function beat(): void {
    if (ended) return
    inVain = isTaken || stream.readableLength === 0 ? 0 : inVain + 1
    isTaken = false
    if (inVain >= PATIENCE) stream.destroy()
    else if (stream.readableLength === 0) stream.push(HEARTBEAT)
  }

  const beating = setInterval(beat, heartbeatMs)
  stream.once('close', () => {
    clearInterval(beating)
    onClosed()
  })
  stream.push(RETRY)

  return {
    stream,
    send(message) {
      if (ended || stream.destroyed) return
      // once some are left out all are, until that can be said: what comes before and after it is then clear
      if (skipped === 0 && stream.readableLength < MOST_WAITING) stream.push(message)
      else {
        skipped += 1
        onSkipped(1)
      }
    },
    end() {
      if (ended || stream.destroyed) return
      ended = true
      stream.push(null)
      setTimeout(() => stream.destroy(), LAST_WORDS_MS).unref()
    },
    isClosed: () => stream.destroyed,
  }
}

/** What a watcher is told; docs/reference/activity.md says what each holds. */
export type EventName =
  | 'call'
  | 'rejected'
  | 'attempt'
  | 'ready'
  | 'skipped'
  | 'health'
  | 'ingest'
  | 'lag'
  | 'unavailable'

/** A server-sent event. @param id the same when the same is sent again. */
export function sse(event: EventName, data: object, id?: string): string {
  const head = id === undefined ? '' : `id: ${id}\n`
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** How long a client waits before it comes again. */
export const RETRY = 'retry: 2000\n\n'
/** Read by nobody: says to all between the two that the connection is in use. */
export const HEARTBEAT = ': still here\n\n'

/** What goes to all who watch one source. */
export type Channel = {
  watchers: Set<Pick<Watcher, 'send'>>
  /** Whether a call that comes now (ms of a monotonic clock) is shown; those that are not are counted while somebody watches. */
  takes(call: { topic: string }, now: number): boolean
  send(message: string): void
  /** Notes that the call is shown. @returns false: it was before, as it came twice. */
  showsFirst(messageId: string): boolean
  isShown(messageId: string): boolean
  /** Says how many were left out since it last did. @returns how many. */
  tellSkipped(): number
}

/** Accepted calls, and rejected ones: among many that are accepted those are what is looked for. */
const PER_SECOND = 100
const MOST_SHOWN = 1_000

export function createChannel(): Channel {
  const accepted = createSampler(PER_SECOND)
  const rejected = createSampler(PER_SECOND)
  const watchers: Channel['watchers'] = new Set()
  const shown = new Set<string>()
  let skipped = 0

  function send(message: string): void {
    for (const watcher of watchers) watcher.send(message)
  }

  return {
    watchers,
    send,
    takes({ topic }, now) {
      const isTaken = (topic === REJECTED ? rejected : accepted)(now)
      if (!isTaken && watchers.size > 0) skipped += 1
      return isTaken
    },
    showsFirst(messageId) {
      if (shown.has(messageId)) return false
      shown.add(messageId)
      const [oldest = ''] = shown
      if (shown.size > MOST_SHOWN) shown.delete(oldest)
      return true
    },
    isShown: (messageId) => shown.has(messageId),
    tellSkipped() {
      const count = skipped
      skipped = 0
      if (count > 0) send(sse('skipped', { count, reason: 'rate' }))
      return count
    },
  }
}

/** Says of each that comes at `now` (ms of a monotonic clock) whether it is taken. */
export type Sampler = (now: number) => boolean

/** Takes so many at once, and so many a second after that, evenly. */
export function createSampler(perSecond: number): Sampler {
  let room = perSecond
  let at = Number.NEGATIVE_INFINITY
  return (now) => {
    room = Math.min(perSecond, room + ((now - at) / 1_000) * perSecond)
    at = now
    if (room < 1) return false
    room -= 1
    return true
  }
}
