import { pair } from '../account.ts'
import type { Post } from '../endpoints.ts'
import type { Span } from './plan.ts'

/** `at`: ms of `performance.now()`. */
export type TimedPost = Post & { at: number }

const isDelivered = ({ status }: Pick<Post, 'status'>) => status >= 200 && status < 300

/**
 * Deliveries that failed before, were posted next after, and were then delivered: one version wrote their retries, and
 * the other delivered them. @param mixed when deliverers of both versions ran
 */
export function handedOver(posts: readonly TimedPost[], mixed: Span): string[] {
  const found: string[] = []
  for (const [key, its] of Map.groupBy(posts, pair)) {
    const before = its.filter(({ at }) => at < mixed.from)
    const [next] = its.filter(({ at }) => at >= mixed.from)
    const wasOnRung = before.length > 0 && !before.some(isDelivered)
    if (wasOnRung && next && next.at > mixed.to && its.some(isDelivered)) found.push(key)
  }
  return found
}

/** Delivered twice in one calm span. Only a crash, a rebalance or a failed write may cause that. */
export function unexplainedRepeats(posts: readonly TimedPost[], calm: readonly Span[]): string[] {
  const delivered = posts.filter(isDelivered)
  const found = new Set<string>()
  for (const span of calm) {
    const seen = new Set<string>()
    for (const post of delivered) {
      if (post.at < span.from || post.at >= span.to) continue
      if (seen.has(pair(post))) found.add(pair(post))
      seen.add(pair(post))
    }
  }
  return [...found]
}

/** Deliveries that rules had to redact, and that have the text, the user, or another hash of the user. */
export function badlyRedacted(posts: readonly Post[], userOf: ReadonlyMap<string, string>): string[] {
  const hashes = new Map<string, string>()
  return posts.flatMap((post) => {
    const { userId, properties } = JSON.parse(post.body) as { userId?: string; properties?: object }
    const user = userOf.get(post.messageId)
    if (user === undefined) return []
    const expected = hashes.get(user) ?? userId
    if (expected) hashes.set(user, expected)
    const isRight = userId && userId !== user && userId === expected && !('text' in (properties ?? {}))
    return isRight ? [] : [pair(post)]
  })
}

/** One direction: the upgrade, or the way back. */
export type Passed = {
  /** When deliverers of both versions ran. */
  mixed: Span
  /** Dead letters of the first version, replayed by the other. */
  replayed: ReadonlySet<string>
  /** Calls that were made again to the other version, and when. */
  resent: ReadonlySet<string>
  resentAt: number
  /** Calls of a source that was added while both versions ran, all delivered. */
  probes: number
}

export type Direction = {
  /** One version wrote the retry, and the other delivered it. */
  handedOver: number
  /** Dead letters that the other version replayed, and those of them that were not delivered. */
  replayed: number
  unreplayed: readonly string[]
  /** Calls made again, and those of them that were forwarded again. */
  resent: number
  forwardedAgain: readonly string[]
  probes: number
}

export function directionOf(posts: readonly TimedPost[], passed: Passed): Direction {
  const { mixed, replayed, resent, resentAt, probes } = passed
  const delivered = new Set(posts.filter(isDelivered).map(pair))
  const again = posts.filter(({ messageId, at }) => resent.has(messageId) && at > resentAt)
  return {
    handedOver: handedOver(
      posts.filter(({ destinationId }) => destinationId === 'busy'),
      mixed,
    ).length,
    replayed: replayed.size,
    unreplayed: [...replayed].filter((key) => !delivered.has(key)),
    resent: resent.size,
    forwardedAgain: again.filter(({ destinationId }) => destinationId === 'healthy').map(pair),
    probes,
  }
}

export type Findings = {
  up: Direction
  back: Direction
  repeats: readonly string[]
  /** Undefined: the earlier version has no rules. */
  badlyRedacted: readonly string[] | undefined
}

/** Whether all is well. Both directions must also have shown something. */
export const worked = ({ up, back, repeats, badlyRedacted: bad = [] }: Findings): boolean =>
  repeats.length === 0 &&
  bad.length === 0 &&
  [up, back].every(
    ({ handedOver: retries, replayed, unreplayed, forwardedAgain }) =>
      retries > 0 && replayed > 0 && unreplayed.length === 0 && forwardedAgain.length === 0,
  )
