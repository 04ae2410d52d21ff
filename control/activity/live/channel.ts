import { createTokenBucket } from '../../../process/token-bucket.ts'
import { REJECTED } from '../../../schemas/topics.ts'
import { sse, type Watcher } from './watcher.ts'

/** For one source, or for all. */
export type Channel = {
  watchers: Set<Pick<Watcher, 'send' | 'end'>>
  /** `now`: ms of a monotonic clock. Counts calls that watchers do not see. */
  admits(call: { topic: string }, now: number): boolean
  send(message: string): void
  /** @returns false if the call came before. */
  markShown(messageId: string): boolean
  isShown(messageId: string): boolean
  /** @returns how many calls were left out since the last report. */
  reportSkipped(): number
  /** Tells watchers that their source was deleted, and ends their streams. */
  end(sourceId: string): void
}

/** Rejected calls have their own limit: among many accepted ones, they are what people look for. */
const PER_SECOND = 100
const MAX_SHOWN = 1_000

export function createChannels() {
  const channels = new Map<string, Channel>()
  return {
    of(sourceId: string): Channel {
      const found = channels.get(sourceId) ?? createChannel()
      channels.set(sourceId, found)
      return found
    },
    get: (sourceId: string) => channels.get(sourceId),
    values: () => channels.values(),
    entries: () => channels.entries(),
  }
}

function createChannel(): Channel {
  const accepted = createTokenBucket({ perSecond: PER_SECOND, burst: PER_SECOND })
  const rejected = createTokenBucket({ perSecond: PER_SECOND, burst: PER_SECOND })
  const watchers: Channel['watchers'] = new Set()
  const shown = new Set<string>()
  let skipped = 0

  function send(message: string): void {
    for (const watcher of watchers) watcher.send(message)
  }

  return {
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
    end(sourceId) {
      const reason = { code: 'source_deleted', message: `Source ${sourceId} was deleted` }
      for (const watcher of watchers) {
        watcher.send(sse('ended', reason), 'always')
        watcher.end()
      }
    },
  }
}
