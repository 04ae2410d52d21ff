/** For an even number, the mean of the middle two. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

/** `0.42 (0.40 to 0.45)`: median, lowest, highest. */
export function spread(figures: readonly number[], digits = 2): string {
  const text = (figure: number) => figure.toFixed(digits)
  return `${text(median(figures))} (${text(Math.min(...figures))} to ${text(Math.max(...figures))})`
}

/** `12,300 (11,900 to 12,800)` */
export function spreadOfCounts(figures: readonly number[]): string {
  const text = (figure: number) => Math.round(figure).toLocaleString('en-US')
  return `${text(median(figures))} (${text(Math.min(...figures))} to ${text(Math.max(...figures))})`
}

export type Goal = { what: string; is: number } & ({ atMost: number } | { atLeast: number })

/** NaN misses its goal. */
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

/** Sum of a counter's samples with this label. @param metrics the text of /metrics */
export function countIn(metrics: string, name: string, label: string): number {
  const samples = metrics.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label))
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}
