import { type RulesRun, runRules } from '../delivery/routing/apply-rules.ts'
import { compilationCount } from '../delivery/routing/compiled-rules.ts'
import { budgetOf, MAX_WORK } from '../rules/call.ts'
import type { Event } from '../schemas/event.ts'
import type { Outline } from '../settings/lookup.ts'

/** Up to this many destinations get the full budget each. */
export const MANY = 10

/** About 1 s at most, for all destinations of an event. */
const SHARED_WORK = MANY * MAX_WORK

/**
 * Three attempts. The first has a budget of its own, about 1 ms at most. The others draw on the shared one, down to
 * `reserve`.
 */
const MANY_ATTEMPTS: readonly Attempt[] = [
  { work: MAX_WORK / 100 },
  { work: MAX_WORK / 10, reserve: SHARED_WORK / 2 },
  { work: MAX_WORK, reserve: 0 },
]
const ONE_ATTEMPT: readonly Attempt[] = [{ work: MAX_WORK }]

type Attempt = { work: number; reserve?: number }

/** Without a budget the rules fail at once, with a redacted body. */
const TOO_COSTLY_TOGETHER = {
  code: 'too_costly_together',
  message:
    "the rules of the source's destinations take too long together on this event, and these are among the costliest: use shorter patterns or fewer placeholder filters",
} as const

/**
 * Runs the rules of an event's destinations. If there are many, each first gets a small budget. Those that need more
 * share one, cheaper rules first. Results depend only on event and rules.
 */
export type RuleRuns = {
  /** @returns undefined if the rules need more budget and run again later. */
  next(): { destination: Outline; result: RulesRun } | undefined
  isDone(): boolean
  /** Work so far: roughly characters read or written, at 25 ns at most. */
  work(): number
}

/** The fixed work of a run, besides its budget. */
const RUN_WORK = 100
/** Added if a run compiles rules or patterns. */
const COMPILE_WORK = 1_000_000

export function createRuleRuns(event: Event, ruled: readonly Outline[]): RuleRuns {
  const attempts = [...(ruled.length > MANY ? MANY_ATTEMPTS : ONE_ATTEMPT)]
  let attempt = attempts.shift()
  let current = ruled
  let place = 0
  let later: Outline[] = []
  let shared = SHARED_WORK
  let total = 0

  /** @returns undefined if there is another attempt. */
  function run(destination: Outline, { work, reserve }: Attempt): RulesRun | undefined {
    const isLast = attempts.length === 0
    const isOver = reserve !== undefined && shared <= reserve
    if (isOver && !isLast) return undefined
    const budget = budgetOf(isOver ? 0 : work)
    const compiledBefore = compilationCount()
    const result = runRules(event, destination, budget)
    total += RUN_WORK + budget.done + ('body' in result ? result.body.length : 0)
    if (compilationCount() > compiledBefore) total += COMPILE_WORK
    if (reserve !== undefined) shared -= budget.done
    if (!isTooCostly(result)) return result
    if (isOver) return { ...result, ...TOO_COSTLY_TOGETHER }
    return isLast ? result : undefined
  }

  return {
    next() {
      const destination = current[place] as Outline
      const result = attempt && run(destination, attempt)
      if (!result) later.push(destination)
      place += 1
      if (place === current.length) {
        current = later
        later = []
        place = 0
        attempt = attempts.shift()
      }
      return result && { destination, result }
    },
    isDone: () => place >= current.length,
    work: () => total,
  }
}

type TooCostly = Extract<RulesRun, { outcome: 'failed' }>

const isTooCostly = (result: RulesRun): result is TooCostly =>
  result.outcome === 'failed' && result.code === 'too_costly'
