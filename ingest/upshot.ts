import type { Answer } from './answer.ts'
import type { CallType } from './call/accept.ts'
import type { SaidType } from './call/batch.ts'
import type { Judgement } from './call/judge.ts'
import type { Code } from './codes.ts'

/** What is still to be known of a request when its records are under way. */
export type Upshot = {
  answer: Answer
  /** Undefined when its write key belongs to none. */
  sourceId: string | undefined
  /** The types of its calls, by what has become of them. */
  accepted: readonly CallType[]
  rejected: readonly { type: SaidType; code: Code }[]
  suppressed: readonly SaidType[]
}

export function upshotOf({ answer, sourceId, events, rejected, suppressed }: Judgement): Upshot {
  return {
    answer,
    sourceId,
    accepted: events.flatMap(({ type }) => (type === 'delete' ? [] : [type])),
    rejected: rejected.map(({ type, code }) => ({ type, code })),
    suppressed,
  }
}
