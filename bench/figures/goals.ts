/** A figure and its bound. */
export type Goal = { what: string; is: number } & ({ atMost: number } | { atLeast: number })

/** Names each missed goal. NaN misses its goal. */
export function verdict(goals: readonly Goal[]): string {
  const missed = goals.filter((goal) => !isReached(goal))
  if (missed.length === 0) return goals.length === 1 ? 'The goal is reached.' : 'All goals are reached.'
  return `**Missed:** ${missed.map(describe).join('; ')}.`
}

const isReached = (goal: Goal) => ('atMost' in goal ? goal.is <= goal.atMost : goal.is >= goal.atLeast)

function describe(goal: Goal): string {
  const bound = 'atMost' in goal ? `at most ${text(goal.atMost)}` : `at least ${text(goal.atLeast)}`
  return `${goal.what} is ${text(goal.is)} (goal: ${bound})`
}

const text = (figure: number) => figure.toLocaleString('en-US', { maximumFractionDigits: 2 })
