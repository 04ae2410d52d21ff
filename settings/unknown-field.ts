import type { z } from 'zod'

/** @returns what is wrong with an unknown field: which one may be meant, and which ones there are. */
export function unknownField(name: string, allowed: readonly string[]): string {
  if (allowed.length === 0) return 'unknown field: leave it out'
  const near = nearest(name, allowed)
  const hint = near === undefined ? '' : `did you mean ${near}? `
  return `unknown field: ${hint}use ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}`
}

/** The fields of the object at this path. None if the schema does not list them. */
export function fieldsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const [key, ...rest] = path
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
    case 'catch':
    case 'nonoptional':
      return fieldsAt(def.innerType, path)
    case 'pipe':
      return fieldsAt(def.in, path)
    case 'object': {
      if (key === undefined) return Object.keys(def.shape)
      const field = def.shape[String(key)]
      return field ? fieldsAt(field, rest) : []
    }
    case 'array':
      return key === undefined ? [] : fieldsAt(def.element, rest)
    case 'record':
      return key === undefined ? [] : fieldsAt(def.valueType, rest)
    default:
      return []
  }
}

/** Names with more typing errors than this are not suggested. */
const MAX_DISTANCE = 2

/** The allowed name with the fewest typing errors. Case does not count. */
export function nearest(name: string, allowed: readonly string[]): string | undefined {
  const all = allowed.map((each) => ({ each, errors: distance(name.toLowerCase(), each.toLowerCase()) }))
  const [best] = all.sort((one, other) => one.errors - other.errors)
  // a short name is near to any other short name
  return best && best.errors <= Math.min(MAX_DISTANCE, (best.each.length - 1) / 2) ? best.each : undefined
}

/** How many characters must be inserted, deleted or replaced (Levenshtein, 1966). */
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
