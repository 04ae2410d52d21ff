import { Readable } from 'node:stream'

export type Watcher = {
  stream: Readable
  /** Sends the message, or counts it as skipped if too much is waiting. `always`: sends it in any case. */
  send(message: string, always?: 'always'): void
  end(): void
  isClosed(): boolean
}

export type WatcherOptions = {
  onSkipped: (messages: number) => void
  /** Called once, whoever ends it. */
  onClosed: () => void
}

/** Enough for fifty recent calls of the usual kind. Those with many escapes may take more. */
const MAX_WAITING = 2 * 1024 * 1024
const LOW_WATER = 64 * 1024
const HEARTBEAT_MS = 15_000
/** After so many heartbeats with waiting data and no read, the client is gone. */
const MAX_MISSED_HEARTBEATS = 4
/** How long waiting messages can be read at the end. */
const FLUSH_MS = 1_000

export function openWatcher({ onSkipped, onClosed }: WatcherOptions): Watcher {
  let skipped = 0
  let ended = false

  const stream = new Readable({
    highWaterMark: LOW_WATER,
    read() {
      heartbeat.onRead()
      if (skipped === 0 || ended) return
      const count = skipped
      skipped = 0
      stream.push(sse('skipped', { count, reason: 'slow' }))
    },
  })
  const heartbeat = startHeartbeat(stream)
  stream.once('close', onClosed)
  stream.push(RETRY)

  return {
    stream,
    send(message, always) {
      if (ended || stream.destroyed) return
      // after one skipped message, skip all until that is reported: the report marks the gap
      if (always || (skipped === 0 && stream.readableLength < MAX_WAITING)) stream.push(message)
      else {
        skipped += 1
        onSkipped(1)
      }
    },
    end() {
      if (ended || stream.destroyed) return
      ended = true
      heartbeat.stop()
      stream.push(null)
      setTimeout(() => stream.destroy(), FLUSH_MS).unref()
    },
    isClosed: () => stream.destroyed,
  }
}

/** Destroys the stream when its client is gone. */
function startHeartbeat(stream: Readable): { onRead(): void; stop(): void } {
  let wasRead = true
  let missed = 0

  const beating = setInterval(() => {
    missed = wasRead || stream.readableLength === 0 ? 0 : missed + 1
    wasRead = false
    if (missed >= MAX_MISSED_HEARTBEATS) stream.destroy()
    else if (stream.readableLength === 0) stream.push(HEARTBEAT)
  }, HEARTBEAT_MS)

  const stop = () => clearInterval(beating)
  stream.once('close', stop)
  return {
    onRead() {
      wasRead = true
    },
    stop,
  }
}

/** Described in docs/reference/activity.md. */
export type EventName =
  | 'call'
  | 'rejected'
  | 'attempt'
  | 'ready'
  | 'skipped'
  | 'ended'
  | 'health'
  | 'ingest'
  | 'lag'
  | 'unavailable'

/** @param id stays the same if the event is sent again. */
export const sse = (event: EventName, data: object, id?: string): string =>
  sseOf(event, JSON.stringify(data), id)

/** @param json on one line. */
export function sseOf(event: EventName, json: string, id?: string): string {
  const head = id === undefined ? '' : `id: ${id}\n`
  return `${head}event: ${event}\ndata: ${json}\n\n`
}

const RETRY = 'retry: 2000\n\n'
/** Keeps proxies from closing the connection. */
const HEARTBEAT = ': still here\n\n'
