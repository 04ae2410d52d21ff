import { createTokenBucket } from '../../../process/token-bucket.ts'
import { REJECTED } from '../../../schemas/topics.ts'
import { sse, type Watcher } from './watcher.ts'

/** What goes to all who watch one source. */
export type Channel = {
  watchers: Set<Pick<Watcher, 'send'>>
  /** Whether a call that comes now (ms of a monotonic clock) is shown; those that are not are counted while somebody watches. */
  admits(call: { topic: string }, now: number): boolean
  send(message: string): void
  /** Notes that the call is shown. @returns false: it was before, as it came twice. */
  markShown(messageId: string): boolean
  isShown(messageId: string): boolean
  /** Says how many were left out since it last did. @returns how many. */
  reportSkipped(): number
}

/** Accepted calls, and rejected ones: among many that are accepted those are what is looked for. */
const PER_SECOND = 100
const MOST_SHOWN = 1_000

export function createChannel(): Channel {
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
      const isTaken = (topic === REJECTED ? rejected : accepted)(now)
      if (!isTaken && watchers.size > 0) skipped += 1
      return isTaken
    },
    markShown(messageId) {
      if (shown.has(messageId)) return false
      shown.add(messageId)
      const [oldest = ''] = shown
      if (shown.size > MOST_SHOWN) shown.delete(oldest)
      return true
    },
    isShown: (messageId) => shown.has(messageId),
    reportSkipped() {
      const count = skipped
      skipped = 0
      if (count > 0) send(sse('skipped', { count, reason: 'rate' }))
      return count
    },
  }
}
