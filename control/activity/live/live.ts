import type { Readable } from 'node:stream'
import type { Connection } from '../../../kafka/client.ts'
import { openTail } from '../../../kafka/tables/tail.ts'
import type { Logger } from '../../../process/log.ts'
import { within } from '../../../process/timeout.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import { EVENTS, REJECTED } from '../../../schemas/topics.ts'
import { createLiveCalls, type LiveCalls, type LiveCallsParts } from './live-calls.ts'
import { openWatcher, type Watcher } from './watcher.ts'

export type Live = {
  /** Streams recent calls of a source or of `ALL`, then new ones. */
  watch(sourceId: string): Readable | 'too_many'
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
  const watchers = new Set<Watcher>()
  let hasEnded = false

  /** Watchers reconnect by themselves, which opens the feed again. */
  function giveUp(err: unknown): void {
    log.warn({ err }, 'calls cannot be followed; disconnecting watchers')
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
      if (hasEnded || watchers.size >= MAX_WATCHERS) return 'too_many'
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
    // without Kafka, opening takes longer than a shutdown may
    close: () => within(closeMs, feed.close()),
  }
}

type Closable = { close(): Promise<void> }

/** Open only while in use. */
export type WhileUsed<T> = {
  /**
   * Needs a `release`, even if it throws.
   * @throws if the resource cannot be opened.
   */
  use(): Promise<T>
  release(): void
  close(): Promise<void>
}

export function whileUsed<T extends Closable>(open: () => Promise<T>, lingerMs: number): WhileUsed<T> {
  let uses = 0
  let opened: Promise<T> | undefined
  let lingering: NodeJS.Timeout | undefined

  async function close(): Promise<void> {
    clearTimeout(lingering)
    const closing = opened
    opened = undefined
    // users already know that opening failed
    await (await closing?.catch(() => undefined))?.close()
  }

  function openNow(): Promise<T> {
    const opening = open()
    opening.catch(() => {
      if (opened === opening) opened = undefined
    })
    return opening
  }

  return {
    use() {
      uses += 1
      clearTimeout(lingering)
      opened ??= openNow()
      return opened
    },
    release() {
      uses -= 1
      if (uses === 0) lingering = setTimeout(() => void close(), lingerMs)
    },
    close,
  }
}

export type Feed = Pick<LiveCalls, 'join' | 'leave'> & {
  /** Once recent calls are loaded; never, if closed before. */
  caughtUp: Promise<void>
  close(): Promise<void>
}

export type FeedParts = Omit<LiveCallsParts, 'now'> & {
  connection: Connection
  onAttempt: (listener: (attempt: Attempt) => void) => () => void
  onFatal: (error: Error) => void
}

/** For each topic; the first watcher waits for it. */
const MAX_READ = 6_000
/** For each partition: twice what a source shows. */
const MAX_READ_BYTES = 2 * 1024 * 1024
const TICK_MS = 1_000

export async function openFeed({ connection, onAttempt, onFatal, ...parts }: FeedParts): Promise<Feed> {
  const show = createLiveCalls({ ...parts, now: () => performance.now() })
  const tail = await openTail({
    connection,
    topics: [EVENTS, REJECTED],
    last: (partitions) => Math.ceil(MAX_READ / partitions),
    pastBytes: MAX_READ_BYTES,
    onRecord: show.call,
    onFatal,
  })
  const stopListening = onAttempt(show.attempt)
  const ticking = setInterval(() => {
    show.reportSkipped()
    show.endDeleted()
  }, TICK_MS)
  return {
    join: show.join,
    leave: show.leave,
    caughtUp: tail.caughtUp.then(show.begin),
    async close() {
      clearInterval(ticking)
      stopListening()
      await tail.close()
    },
  }
}
