import type { Connection } from '../../kafka/client.ts'
import { openTail } from '../../kafka/tail.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import type { Codec } from '../../schemas/codec.ts'
import { ATTEMPTS } from '../../schemas/topics.ts'
import { decodeOrPass, type Unreadable } from '../newest/decode.ts'
import { type Followed, followed } from '../newest/loaded.ts'
import type { Newest } from '../newest/newest.ts'
import { createHeld, type Held } from './held.ts'
import type { HeldAttempt } from './query.ts'

/** The attempts of late, of all deliverers. */
export type Attempts = Followed &
  Pick<Held, 'ofMessage'> & {
    newest: Pick<Newest<HeldAttempt>, 'all' | 'page' | 'oldest'>
    /** Tells of each attempt that is read from now on. @returns how to hear no more. */
    onAttempt(listener: (attempt: Attempt) => void): () => void
    close(): Promise<void>
  }

const MOST = 10_000
const MOST_BYTES = 32 * 1024 * 1024
/** All partitions together; of up to twenty each is read as far back as if it had the last ones of all. */
const MOST_READ = 200_000

export async function followAttempts(options: {
  connection: Connection
  codec: Pick<Codec<Attempt>, 'decode'>
  onUnreadable: (reason: Unreadable) => void
  /** Told of each attempt that is read, those from before this process too. */
  onRead: (attempt: Attempt) => void
  onFatal: (error: Error) => void
}): Promise<Attempts> {
  const { connection, codec, onUnreadable, onRead, onFatal } = options
  const { newest, ofMessage } = createHeld({ most: MOST, mostBytes: MOST_BYTES })
  const listeners = new Set<(attempt: Attempt) => void>()
  const decode = decodeOrPass(codec, onUnreadable)
  const tail = await openTail({
    connection,
    topics: [ATTEMPTS],
    last: (partitions) => Math.min(MOST, Math.ceil(MOST_READ / partitions)),
    onRecord: ({ partition, offset, value }) =>
      decode(value, (attempt) => {
        newest.add({ time: attempt.startedAt, partition, offset, attempt, bytes: bytesOf(value) })
        onRead(attempt)
        for (const listener of listeners) listener(attempt)
      }),
    onFatal,
  })
  return {
    newest,
    ...followed(tail, newest),
    ofMessage,
    onAttempt(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: tail.close,
  }
}

/** Decoded it takes a few hundred more, and where there is any character beyond Latin-1 twice as much. */
const bytesOf = (value: Buffer | null) => 500 + 2 * (value?.length ?? 0)
