import { z } from 'zod'
import { recorded } from '../../deliverer/classify.ts'
import type { Poster } from '../../deliverer/post/post.ts'
import { withoutSecrets } from '../../deliverer/redact-response.ts'
import { type Posting, type Request, request } from '../../deliverer/request.ts'
import type { Destination } from '../../schemas/settings.ts'
import { attemptShape } from '../attempts/shown.ts'

/** What came of one POST, in the words of topic `attempts`; `url` as it is in the settings. */
export const resultShape = z
  .strictObject({ url: z.string() })
  .extend(
    attemptShape.pick({ outcome: true, status: true, durationMs: true, code: true, response: true }).shape,
  )
  .meta({ id: 'TestResult' })

export type Result = z.infer<typeof resultShape>

/** `now`: ms since 1970. */
export type PostToAll = { destination: Destination; posting: Posting; now: number }

/** As the deliverer's first attempt, but to every URL whatever the others say. @returns in the order of the webhooks. Never rejects. */
export function postToAll(
  poster: Pick<Poster, 'post'>,
  { destination, posting, now }: PostToAll,
): Promise<Result[]> {
  const requests = destination.webhooks.map((_, urlIndex) =>
    request(posting, { destination, urlIndex, attempt: 1, now }),
  )
  return Promise.all(
    requests.map(async (each) => {
      const result = await post(poster, each)
      return { ...result, response: withoutSecrets(result.response, destination) }
    }),
  )
}

function post(poster: Pick<Poster, 'post'>, request: Request): Promise<Result> {
  return new Promise((resolve) => {
    let heard: Omit<Result, 'response'> | undefined
    poster.post(request, {
      heard(of, durationMs) {
        const { outcome, status, code } = recorded(of)
        heard = { url: request.url, outcome, status, durationMs, code }
      },
      ended: (response) => heard && resolve({ ...heard, response }),
    })
  })
}
