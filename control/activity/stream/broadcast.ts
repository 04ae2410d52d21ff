import type { FastifyInstance } from 'fastify'
import { countSkipped } from '../metrics.ts'
import type { Watchable } from './response.ts'
import { type EventName, openWatcher, sse, type Watcher } from './watcher.ts'

/** Sends the current state at once and after every change. */
export type Broadcast = Watchable & { end(): void }

export type BroadcastOptions = {
  /** By event; undefined if unknown, sent as `unavailable`. */
  current: Partial<Record<EventName, () => object | undefined>>
  onSkipped: (messages: number) => void
  everyMs?: number
  maxWatchers?: number
}

const EVERY_MS = 2_000
/** Each may hold 2 MB. */
const MAX_WATCHERS = 20

export function createBroadcast(options: BroadcastOptions): Broadcast {
  const { current, onSkipped, everyMs = EVERY_MS, maxWatchers = MAX_WATCHERS } = options
  const watchers = new Set<Watcher>()
  const sent = new Map<string, string>()
  let sending: NodeJS.Timeout | undefined
  let hasEnded = false

  function sendChanges(): void {
    for (const [event, message] of messagesOf(current)) {
      if (sent.get(event) === message) continue
      sent.set(event, message)
      for (const watcher of watchers) watcher.send(message)
    }
  }

  function join(watcher: Watcher): void {
    // without watchers, `sent` is out of date
    if (watchers.size === 0) sent.clear()
    watchers.add(watcher)
    for (const [event, message] of messagesOf(current)) {
      if (watchers.size === 1) sent.set(event, message)
      watcher.send(message)
    }
    sending ??= setInterval(sendChanges, everyMs)
  }

  function leave(watcher: Watcher): void {
    watchers.delete(watcher)
    if (watchers.size > 0) return
    clearInterval(sending)
    sending = undefined
  }

  return {
    watch() {
      if (hasEnded || watchers.size >= maxWatchers) return 'too_many'
      const watcher = openWatcher({ onSkipped, onClosed: () => leave(watcher) })
      join(watcher)
      return watcher.stream
    },
    watchers: () => watchers.size,
    end() {
      hasEnded = true
      for (const watcher of watchers) watcher.end()
    },
  }
}

/** Ends with the server. */
export function serveBroadcast(api: FastifyInstance, current: BroadcastOptions['current']): Broadcast {
  const broadcast = createBroadcast({ current, onSkipped: countSkipped('slow') })
  api.addHook('preClose', async () => broadcast.end())
  return broadcast
}

const messagesOf = (current: BroadcastOptions['current']) =>
  Object.entries(current).map(([event, state]) => {
    const data = state()
    // the keys are event names
    return [event, data ? sse(event as EventName, data) : sse('unavailable', { event })] as const
  })
