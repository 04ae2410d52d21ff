import type { Posted } from './ladder.ts'
import type { Poster } from './post.ts'
import type { Request } from './request.ts'

/**
 * Posts to all URLs at once. Resolves as soon as one is delivered, else when all have ended; a POST still under way then
 * ends by itself. `onPosted` is told of each, with the head of its response.
 */
export async function postRound(
  requests: readonly Request[],
  poster: Pick<Poster, 'post'>,
  onPosted: (posted: Posted) => void,
): Promise<Posted[]> {
  const ended: Posted[] = []
  const posts = requests.map(async (request) => {
    const startedAt = Date.now()
    const { outcome, durationMs, response } = await poster.post(request)
    const posted = { urlIndex: request.urlIndex, url: request.url, startedAt, durationMs, outcome }
    ended.push({ ...posted, response: null })
    void response.then((head) => onPosted({ ...posted, response: head }))
    // a rejection lets Promise.any wait for the others
    if (outcome.outcome !== 'delivered') throw outcome
  })
  await Promise.any(posts).catch(() => undefined)
  return [...ended]
}
