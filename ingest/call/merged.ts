import { isObject, type JsonObject } from './json.ts'

/**
 * The context or integrations of a call, over those of its batch at the first level. Copying the batch's members into
 * each call takes too long.
 */
export type Merged = { shared: JsonObject | null; own: JsonObject | null }

/** @returns undefined if the value that counts is neither null nor an object. */
export function merge(shared: unknown, own: unknown): Merged | undefined {
  if (own !== null && !isObject(own)) return undefined
  if (isObject(shared)) return { shared, own }
  return own === null && shared !== null ? undefined : { shared: null, own }
}

export function memberOf({ shared, own }: Merged, name: string): unknown {
  return own && Object.hasOwn(own, name) ? own[name] : shared?.[name]
}

/**
 * The JSON of both as one object: the batch's members, then the call's. Leaves out undefined members. Takes time for
 * the call's own members only: visiting all of the batch's for each call took up to 140 ms for 10 KB of gzip.
 */
export function printMerged({ shared, own }: Merged): string | null {
  if (shared === null) return own === null ? null : JSON.stringify(own)
  const printed = printedOnce(shared)
  if (own === null) return `{${printed.text}}`
  const parts: string[] = []
  let from = 0
  for (const at of replacedBy(own, printed)) {
    parts.push(membersBetween(from, at, printed))
    from = at + 1
  }
  parts.push(membersBetween(from, printed.starts.length - 1, printed), JSON.stringify(own).slice(1, -1))
  return `{${parts.filter((text) => text !== '').join(',')}}`
}

type Printed = {
  /** All members, without braces. */
  text: string
  /** Where each member starts in `text`, and where the next one would. */
  starts: readonly number[]
  positions: ReadonlyMap<string, number>
}

/** The positions of the batch's members with these names, ascending. */
function replacedBy(own: JsonObject, { positions }: Printed): number[] {
  const found: number[] = []
  for (const name of Object.keys(own)) {
    const at = positions.get(name)
    if (at !== undefined) found.push(at)
  }
  return found.sort((one, other) => one - other)
}

/** Without the comma after the last one. */
function membersBetween(from: number, to: number, { text, starts }: Printed): string {
  return from < to ? text.slice(starts[from], (starts[to] ?? 0) - 1) : ''
}

/** The calls of a batch share one object. */
const printedBefore = new WeakMap<JsonObject, Printed>()

function printedOnce(shared: JsonObject): Printed {
  const before = printedBefore.get(shared)
  if (before) return before
  const names = Object.keys(shared).filter((name) => shared[name] !== undefined)
  const texts = names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(shared[name])}`)
  const starts = [0]
  for (const text of texts) starts.push((starts.at(-1) ?? 0) + text.length + 1)
  const printed = {
    text: texts.join(','),
    starts,
    positions: new Map(names.map((name, position) => [name, position])),
  }
  printedBefore.set(shared, printed)
  return printed
}
