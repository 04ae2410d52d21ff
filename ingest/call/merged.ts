import { isObject, type JsonObject } from './json.ts'

/**
 * The context or integrations of a call, over those of its batch at the first level. Copying the batch's members into
 * each call took up to 4 ms.
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

/** The JSON of both as one object, in JavaScript's order. Leaves out undefined members. */
export function printMerged({ shared, own }: Merged): string | null {
  if (shared === null) return own === null ? null : JSON.stringify(own)
  const { texts, indexes, names, whole } = printedOnce(shared)
  if (own === null) return whole
  const added = Object.keys(own).filter((name) => !texts.has(name))
  const order = [
    ...[...indexes, ...added.filter(isIndex)].sort((one, other) => Number(one) - Number(other)),
    ...names,
    ...added.filter((name) => !isIndex(name)),
  ]
  const printed = order.map((name) =>
    Object.hasOwn(own, name) ? printMember(name, own[name]) : texts.get(name),
  )
  return `{${printed.filter((text) => text !== undefined).join(',')}}`
}

function printMember(name: string, value: unknown): string | undefined {
  return value === undefined ? undefined : `${JSON.stringify(name)}:${JSON.stringify(value)}`
}

/** Objects list these members first, in ascending order. */
const isIndex = (name: string): boolean => /^(?:0|[1-9]\d{0,9})$/.test(name) && Number(name) < 2 ** 32 - 1

type Printed = {
  texts: ReadonlyMap<string, string>
  indexes: readonly string[]
  names: readonly string[]
  whole: string
}

/** The calls of a batch share one object. */
const printedBefore = new WeakMap<JsonObject, Printed>()

function printedOnce(shared: JsonObject): Printed {
  const before = printedBefore.get(shared)
  if (before) return before
  const texts = new Map<string, string>()
  for (const [name, value] of Object.entries(shared)) {
    const text = printMember(name, value)
    if (text !== undefined) texts.set(name, text)
  }
  const all = [...texts.keys()]
  const printed = {
    texts,
    indexes: all.filter(isIndex),
    names: all.filter((name) => !isIndex(name)),
    whole: `{${[...texts.values()].join(',')}}`,
  }
  printedBefore.set(shared, printed)
  return printed
}
