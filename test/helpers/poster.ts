import type { Outcome } from '../../delivery/outcome.ts'
import { createPoster } from '../../delivery/post/post.ts'
import type { Request } from '../../delivery/request.ts'
import { createEgress } from '../../egress/egress.ts'
import { closing } from './cluster.ts'

/** `sent`: the request was sent. `isNew`: a new connection was made for it. */
export type Answer = {
  outcome: Outcome
  durationMs: number
  sent: boolean
  isNew: boolean
  response: Promise<string | null>
}

/** The deliverer's HTTP client, to be awaited; closed at the end of the test. */
export function aPoster({
  limitMs,
  allow,
  ca,
}: {
  limitMs: number
  allow: string[]
  ca?: string[] | undefined
}) {
  const poster = closing(createPoster({ limitMs, egress: createEgress({ allow }), ca }))
  return {
    post(request: Request): Promise<Answer> {
      const response = Promise.withResolvers<string | null>()
      let isNew = false
      return new Promise((resolve) =>
        poster.post(request, {
          onConnected: () => {
            isNew = true
          },
          onOutcome: (outcome, durationMs, sent) =>
            resolve({ outcome, durationMs, sent, isNew, response: response.promise }),
          onEnd: response.resolve,
        }),
      )
    },
    /**
     * Posts this many times, each as soon as the one before has ended, in the same turn.
     * @param between called before each next POST. @returns the outcome of each.
     */
    chain(request: Request, times: number, between?: () => void): Promise<Outcome[]> {
      const outcomes: Outcome[] = []
      return new Promise((resolve) => {
        const next = () =>
          poster.post(request, {
            onOutcome: (outcome) => void outcomes.push(outcome),
            onEnd() {
              if (outcomes.length === times) return resolve(outcomes)
              between?.()
              next()
            },
          })
        next()
      })
    },
  }
}
