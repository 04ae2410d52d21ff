import type { Readable } from 'node:stream'
import type { Connection } from '../../../kafka/client.ts'
import { openTail } from '../../../kafka/tables/tail.ts'
import type { Logger } from '../../../process/log.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import { EVENTS, REJECTED } from '../../../schemas/topics.ts'
import { withTimeout } from '../../api/concurrency.ts'
import { createLiveCalls, type LiveCalls, type LiveCallsParts } from './live-calls.ts'
import { openWatcher, type Watcher } from './watcher.ts'

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
    close: () => withTimeout(feed.close(), closeMs).catch(() => undefined),
  }
}

type Closable = { close(): Promise<void> }

/** Something that is there only while it is used. */
export type WhileUsed<T> = {
  /** Each use is to be released, also when this throws. @throws when it cannot be opened. */
  use(): Promise<T>
  release(): void
  /** The next use opens it anew. */
  close(): Promise<void>
}

/** @param lingerMs for so long it stays open after the last use. */
export function whileUsed<T extends Closable>(open: () => Promise<T>, lingerMs: number): WhileUsed<T> {
  let uses = 0
  let opened: Promise<T> | undefined
  let lingering: NodeJS.Timeout | undefined

  async function close(): Promise<void> {
    clearTimeout(lingering)
    const closing = opened
    opened = undefined
    // who was to use it has been told that it cannot be opened
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

/** What is read for those who watch, and shown to them. */
export type Feed = Pick<LiveCalls, 'join' | 'leave'> & {
  /** Resolves when there are last calls to show; never when it is closed before. */
  caughtUp: Promise<void>
  close(): Promise<void>
}

export type FeedParts = Omit<LiveCallsParts, 'now'> & {
  connection: Connection
  /** @returns how to hear no more. */
  onAttempt: (listener: (attempt: Attempt) => void) => () => void
  onFatal: (error: Error) => void
}

/** Of each topic, all partitions together; whoever comes first waits for it. */
const MOST_READ = 6_000
const TELL_MS = 1_000

export async function openFeed({ connection, onAttempt, onFatal, ...parts }: FeedParts): Promise<Feed> {
  const show = createLiveCalls({ ...parts, now: () => performance.now() })
  const tail = await openTail({
    connection,
    topics: [EVENTS, REJECTED],
    last: (partitions) => Math.ceil(MOST_READ / partitions),
    onRecord: show.call,
    onFatal,
  })
  const stopListening = onAttempt(show.attempt)
  const telling = setInterval(show.reportSkipped, TELL_MS)
  return {
    join: show.join,
    leave: show.leave,
    caughtUp: tail.caughtUp.then(show.begin),
    async close() {
      clearInterval(telling)
      stopListening()
      await tail.close()
    },
  }
}
