import type { Readable } from 'node:stream'
import type { Logger } from '../../log.ts'
import { patiently } from '../patience.ts'
import type { Feed } from './feed.ts'
import { openWatcher, type Watcher } from './watcher.ts'
import { whileUsed } from './while-used.ts'

/** Lets people look on while calls come in. */
export type Live = {
  /** The last calls of a source, or of `ALL` (show.ts), and then what comes, as server-sent events. The feed may still have to be opened. */
  watch(sourceId: string): Readable | 'too_many'
  watchers(): number
  /** Ends all streams, and begins no more. */
  end(): void
  close(): Promise<void>
}

export type LiveParts = {
  /** @param onFatal it has stopped for good. */
  openFeed: (onFatal: (error: Error) => void) => Promise<Feed>
  /** Somebody reads too slowly. */
  onSkipped: (messages: number) => void
  log: Pick<Logger, 'warn'>
  lingerMs?: number
  closeMs?: number
}

const MOST_WATCHERS = 20
/** Who comes back soon, as a page that is loaded anew does, waits for nothing. */
const LINGER_MS = 10_000
const CLOSE_MS = 3_000

export function createLive(parts: LiveParts): Live {
  const { openFeed, onSkipped, log, lingerMs = LINGER_MS, closeMs = CLOSE_MS } = parts
  const watchers = new Set<Watcher>()
  let hasEnded = false

  /** They come again by themselves, and then it is opened anew. */
  function giveUp(err: unknown): void {
    log.warn({ err }, 'the calls cannot be followed; who watches is sent away')
    for (const watcher of watchers) watcher.end()
    void feed.close()
  }

  const feed = whileUsed(() => openFeed(giveUp), lingerMs)

  async function show(sourceId: string, watcher: Watcher, closed: Promise<void>): Promise<void> {
    try {
      const opened = await feed.use()
      await opened.caughtUp
      if (watcher.isClosed()) return
      opened.join(sourceId, watcher)
      void closed.then(() => opened.leave(sourceId, watcher))
    } catch (err) {
      giveUp(err)
    }
  }

  return {
    watch(sourceId) {
      if (hasEnded || watchers.size >= MOST_WATCHERS) return 'too_many'
      const { promise: closed, resolve } = Promise.withResolvers<void>()
      const watcher = openWatcher({
        onSkipped,
        onClosed() {
          watchers.delete(watcher)
          feed.release()
          resolve()
        },
      })
      watchers.add(watcher)
      void show(sourceId, watcher, closed)
      return watcher.stream
    },
    watchers: () => watchers.size,
    end() {
      hasEnded = true
      for (const watcher of watchers) watcher.end()
    },
    // one that is being opened while Kafka is away takes longer than there is time
    close: () => patiently(feed.close(), closeMs).catch(() => undefined),
  }
}
