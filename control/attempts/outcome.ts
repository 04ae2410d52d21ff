import type { Outcome } from '../../deliverer/classify.ts'
import type { Attempt } from '../../schemas/attempt.ts'

/** As the deliverer had it when it logged it. */
export function outcomeOf({ outcome, status, code }: Attempt): Outcome {
  if (outcome === 'delivered') return { outcome, status: status ?? 0 }
  if (outcome === 'rejected') return { outcome, status: status ?? 0, code: code ?? '' }
  if (outcome === 'refused' || outcome === 'deferred') return { outcome, code: code ?? '' }
  return { outcome: 'retry', code: code ?? '', ...(status !== null && { status }) }
}
