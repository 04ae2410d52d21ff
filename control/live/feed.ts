import type { Connection } from '../../kafka/client.ts'
import { openTail } from '../../kafka/tail.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import { EVENTS, REJECTED } from '../../schemas/topics.ts'
import { createShow, type Show, type ShowParts } from './show.ts'

/** What is read for those who watch, and shown to them. */
export type Feed = Pick<Show, 'join' | 'leave'> & {
  /** Resolves when there are last calls to show; never when it is closed before. */
  caughtUp: Promise<void>
  close(): Promise<void>
}

export type FeedParts = Omit<ShowParts, 'now'> & {
  connection: Connection
  /** @returns how to hear no more. */
  onAttempt: (listener: (attempt: Attempt) => void) => () => void
  onFatal: (error: Error) => void
}

/** Of each topic, all partitions together; whoever comes first waits for it. */
const MOST_READ = 6_000
const TELL_MS = 1_000

export async function openFeed({ connection, onAttempt, onFatal, ...parts }: FeedParts): Promise<Feed> {
  const show = createShow({ ...parts, now: () => performance.now() })
  const tail = await openTail({
    connection,
    topics: [EVENTS, REJECTED],
    last: (partitions) => Math.ceil(MOST_READ / partitions),
    onRecord: show.call,
    onFatal,
  })
  const stopListening = onAttempt(show.attempt)
  const telling = setInterval(show.tellSkipped, TELL_MS)
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
