/** For an even number of figures: the mean of the middle two. */
export function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

/** `0.42 (0.40 to 0.45)`: the median with the lowest and the highest. */
export function spread(figures: readonly number[], digits = 2): string {
  const text = (figure: number) => figure.toFixed(digits)
  return `${text(median(figures))} (${text(Math.min(...figures))} to ${text(Math.max(...figures))})`
}

/** `12,300 (11,900 to 12,800)` */
export function spreadOfCounts(figures: readonly number[]): string {
  const text = (figure: number) => Math.round(figure).toLocaleString('en-US')
  return `${text(median(figures))} (${text(Math.min(...figures))} to ${text(Math.max(...figures))})`
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
