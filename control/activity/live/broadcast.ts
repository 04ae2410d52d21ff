import type { Readable } from 'node:stream'
import { type EventName, openWatcher, sse, type Watcher } from './watcher.ts'

/** Tells all who watch what is so, at once and then whenever it has changed. */
export type Broadcast = {
  watch(): Readable | 'too_many'
  watchers(): number
  /** Ends all streams, and begins no more. */
  end(): void
}

export type BroadcastOptions = {
  /** What is so, by event; undefined: nothing can be said of it now, which `unavailable` tells. */
  current: Partial<Record<EventName, () => object | undefined>>
  /** Somebody reads too slowly. */
  onSkipped: (messages: number) => void
  everyMs?: number
  mostWatchers?: number
}

const EVERY_MS = 2_000
/** As in `createLive`, each may hold 2 MB. */
const MOST_WATCHERS = 20

export function createBroadcast(options: BroadcastOptions): Broadcast {
  const { current, onSkipped, everyMs = EVERY_MS, mostWatchers = MOST_WATCHERS } = options
  const watchers = new Set<Watcher>()
  /** By event, what all have been told. */
  const told = new Map<string, string>()
  let telling: NodeJS.Timeout | undefined
  let hasEnded = false

  const messages = () =>
    Object.entries(current).map(([event, say]) => {
      const data = say()
      // its keys are names of events
      return [event, data ? sse(event as EventName, data) : sse('unavailable', { event })] as const
    })

  function tell(): void {
    for (const [event, message] of messages()) {
      if (told.get(event) === message) continue
      told.set(event, message)
      for (const watcher of watchers) watcher.send(message)
    }
  }

  function begin(watcher: Watcher): void {
    // for who is alone nothing was told before
    if (watchers.size === 0) told.clear()
    watchers.add(watcher)
    for (const [event, message] of messages()) {
      if (watchers.size === 1) told.set(event, message)
      watcher.send(message)
    }
    telling ??= setInterval(tell, everyMs)
  }

  function left(watcher: Watcher): void {
    watchers.delete(watcher)
    if (watchers.size > 0) return
    clearInterval(telling)
    telling = undefined
  }

  return {
    watch() {
      if (hasEnded || watchers.size >= mostWatchers) return 'too_many'
      const watcher = openWatcher({ onSkipped, onClosed: () => left(watcher) })
      begin(watcher)
      return watcher.stream
    },
    watchers: () => watchers.size,
    end() {
      hasEnded = true
      for (const watcher of watchers) watcher.end()
    },
  }
}
