import { Readable } from 'node:stream'

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

/** What a watcher is told; docs/activity.md says what each holds. */
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
