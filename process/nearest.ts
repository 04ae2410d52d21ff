const MAX_DISTANCE = 2

/** @returns the allowed name with the fewest typing errors. Ignores case. */
export function nearest(name: string, allowed: readonly string[]): string | undefined {
  const all = allowed.map((each) => ({ each, errors: distance(name.toLowerCase(), each.toLowerCase()) }))
  const [best] = all.sort((one, other) => one.errors - other.errors)
  // a short name is near to any other short name
  return best && best.errors <= Math.min(MAX_DISTANCE, (best.each.length - 1) / 2) ? best.each : undefined
}

/** Levenshtein distance. */
function distance(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > MAX_DISTANCE) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [place, character] of [...from].entries()) {
    const next = [place + 1]
    for (let index = 1; index <= to.length; index++) {
      const replaced = (row[index - 1] ?? 0) + (character === to[index - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[index] ?? 0) + 1, (next[index - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
