import type { Readable } from 'node:stream'
import type { Logger } from '../../../process/log.ts'
import { within } from '../../../process/timeout.ts'
import { openWatcher, type Watcher } from '../stream/watcher.ts'
import { type Feed, whileUsed } from './feed.ts'

export type Live = {
  /** Streams recent calls of a source or of `ALL`, then new ones. */
  watch(channelId: string): Readable | 'too_many'
  watchers(): number
  end(): void
  close(): Promise<void>
}

export type LiveParts = {
  /** @param onFatal called when the feed has stopped for good. */
  openFeed: (onFatal: (error: Error) => void) => Promise<Feed>
  onSkipped: (messages: number) => void
  log: Pick<Logger, 'warn'>
  lingerMs?: number
  closeMs?: number
}

const MAX_WATCHERS = 20
/** Whoever reloads the page finds the feed still open. */
const LINGER_MS = 10_000
const CLOSE_MS = 3_000

export function createLive(parts: LiveParts): Live {
  const { openFeed, onSkipped, log, lingerMs = LINGER_MS, closeMs = CLOSE_MS } = parts
  const feed = whileUsed(() => openFeed(giveUp), lingerMs)
  const watchers = new Set<Watcher>()
  let hasEnded = false

  /** Watchers reconnect by themselves, which opens the feed again. */
  function giveUp(err: unknown): void {
    log.warn({ err }, 'calls cannot be followed; disconnecting watchers')
    for (const watcher of watchers) watcher.end()
    void feed.close()
  }

  async function join(channelId: string, watcher: Watcher): Promise<void> {
    try {
      const opened = await feed.use()
      await opened.caughtUp
      if (watcher.isClosed()) return
      opened.join(channelId, watcher)
      watcher.stream.once('close', () => opened.leave(channelId, watcher))
    } catch (err) {
      giveUp(err)
    }
  }

  return {
    watch(channelId) {
      if (hasEnded || watchers.size >= MAX_WATCHERS) return 'too_many'
      const watcher = openWatcher({
        onSkipped,
        onClosed() {
          watchers.delete(watcher)
          feed.release()
        },
      })
      watchers.add(watcher)
      void join(channelId, watcher)
      return watcher.stream
    },
    watchers: () => watchers.size,
    end() {
      hasEnded = true
      for (const watcher of watchers) watcher.end()
    },
    // without Kafka, opening takes longer than a shutdown may
    close: () => within(closeMs, feed.close()),
  }
}
