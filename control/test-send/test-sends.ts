import type { Poster } from '../../deliverer/post/post.ts'
import { type PostToAll, postToAll, type Result } from './post-to-all.ts'

/** Of this process: a test is for a look, not for load. */
export const MOST_AT_ONCE = 10

export type TestSends = {
  /** Resolves within the time limit of a POST, and never rejects. Undefined: too many are under way. */
  begin(asked: PostToAll): Promise<Result[]> | undefined
  /** Ends those under way, as `aborted`; none begins any more. */
  close(): Promise<void>
}

/**
 * Each with connections of its own, closed behind it: a test says what is so now, which one that was kept from before, or its
 * TLS session, would not know.
 */
export function createTestSends(openPoster: () => Poster): TestSends {
  const underWay = new Set<Poster>()
  let closed = false

  async function send(asked: PostToAll): Promise<Result[]> {
    const poster = openPoster()
    underWay.add(poster)
    try {
      return await postToAll(poster, asked)
    } finally {
      underWay.delete(poster)
      await poster.close()
    }
  }

  return {
    begin: (asked) => (closed || underWay.size >= MOST_AT_ONCE ? undefined : send(asked)),
    async close() {
      closed = true
      await Promise.all([...underWay].map((poster) => poster.close()))
    },
  }
}
