import type { Connection } from '../../../kafka/client.ts'
import { openTail } from '../../../kafka/tables/tail.ts'
import type { Attempt } from '../../../schemas/attempt.ts'
import { EVENTS, REJECTED } from '../../../schemas/topics.ts'
import { createLiveCalls, type LiveCalls, type LiveCallsParts } from './live-calls.ts'

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

/** Reads new calls from Kafka for the watchers. */
export async function openFeed({ connection, onAttempt, onFatal, ...parts }: FeedParts): Promise<Feed> {
  const calls = createLiveCalls({ ...parts, now: () => performance.now() })
  const tail = await openTail({
    connection,
    topics: [EVENTS, REJECTED],
    last: (partitions) => Math.ceil(MAX_READ / partitions),
    pastBytes: MAX_READ_BYTES,
    onRecord: calls.call,
    onFatal,
  })
  const stopListening = onAttempt(calls.attempt)
  const ticking = setInterval(() => {
    calls.reportSkipped()
    calls.endDeleted()
  }, TICK_MS)
  return {
    join: calls.join,
    leave: calls.leave,
    caughtUp: tail.caughtUp.then(calls.begin),
    async close() {
      clearInterval(ticking)
      stopListening()
      await tail.close()
    },
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

/** @param lingerMs how long it stays open after the last use. */
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
