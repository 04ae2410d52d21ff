import { createTokenBucket } from '../../../process/token-bucket.ts'
import { REJECTED } from '../../../schemas/topics.ts'
import { sse, type Watcher } from '../stream/watcher.ts'

/** The id of the channel for all sources. No source has this id. */
export const ALL = ''

export type Receiver = Pick<Watcher, 'send' | 'end'>

/** For one source, or for all. */
export type Channel = {
  /** Of its source, or `ALL`. */
  id: string
  watchers: Set<Receiver>
  /** `now`: ms of a monotonic clock. Counts calls that watchers do not see. */
  admits(call: { topic: string }, now: number): boolean
  send(message: string): void
  /** @returns false if the call came before. */
  markShown(messageId: string): boolean
  isShown(messageId: string): boolean
  /** @returns how many calls were left out since the last report. */
  reportSkipped(): number
  /** Tells watchers that their source was deleted, and ends their streams. */
  end(): void
}

/** Rejected calls have their own limit: among many accepted ones, they are what people look for. */
const PER_SECOND = 100
const MAX_SHOWN = 1_000

export function createChannels() {
  const channels = new Map<string, Channel>()
  return {
    of(id: string): Channel {
      const found = channels.get(id) ?? createChannel(id)
      channels.set(id, found)
      return found
    },
    get: (id: string) => channels.get(id),
    all: () => channels.values(),
  }
}

function createChannel(id: string): Channel {
  const accepted = createTokenBucket({ perSecond: PER_SECOND, burst: PER_SECOND })
  const rejected = createTokenBucket({ perSecond: PER_SECOND, burst: PER_SECOND })
  const watchers: Channel['watchers'] = new Set()
  const shown = new Set<string>()
  let skipped = 0

  function send(message: string): void {
    for (const watcher of watchers) watcher.send(message)
  }

  return {
    id,
    watchers,
    send,
    admits({ topic }, now) {
      const bucket = topic === REJECTED ? rejected : accepted
      const isAdmitted = bucket.allows(now)
      if (isAdmitted) bucket.take(now)
      if (!isAdmitted && watchers.size > 0) skipped += 1
      return isAdmitted
    },
    markShown(messageId) {
      if (shown.has(messageId)) return false
      shown.add(messageId)
      const [oldest = ''] = shown
      if (shown.size > MAX_SHOWN) shown.delete(oldest)
      return true
    },
    isShown: (messageId) => shown.has(messageId),
    reportSkipped() {
      const count = skipped
      skipped = 0
      if (count > 0) send(sse('skipped', { count, reason: 'rate' }))
      return count
    },
    end() {
      const reason = { code: 'source_deleted', message: `Source ${id} was deleted` }
      for (const watcher of watchers) {
        watcher.send(sse('ended', reason), 'always')
        watcher.end()
      }
    },
  }
}
