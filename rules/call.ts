import { isObject, withMember, withoutMember } from '../process/json-objects.ts'
import { addMember, cutMember } from '../process/json-text.ts'
import { parseJson } from '../process/parse-json.ts'
import type { Event } from '../schemas/event.ts'
import { EACH, isJsonRoot, JSON_ROOTS, type JsonRoot, type Key, type Path, type Root } from './path.ts'

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }
export type Columns = Partial<Record<JsonRoot, Json | undefined>>

/** An event as rules see it. JSON columns are parsed on first use. */
export type Call = {
  event: Event
  /** Before it was redacted. */
  original: Event
  /** Never change them in place: the rules of several destinations share them. */
  columns: Columns
  budget: Budget
}

/**
 * What remains of `work` (roughly characters read) and `output` (characters of the body): below 0, the rules fail.
 * `done`: work so far, without the step that exceeded the budget.
 */
export type Budget = { work: number; output: number; done: number }

/** About 0.1 s at most, half of that for patterns alone. */
export const MAX_WORK = 4_000_000
export const MAX_BODY_BYTES = 256 * 1024

export const budgetOf = (work: number): Budget => ({ work, output: MAX_BODY_BYTES, done: 0 })

/** `body`: without rules, once rendered. `numbers`: the work of printing slow ones. */
type Shared = Pick<Call, 'event' | 'columns'> & {
  body?: string
  numbers: Partial<Record<JsonRoot, number>>
}

/** Destinations share this: the router mostly runs all rules of an event before the next. */
let latest: Shared | undefined

function sharedOf(event: Event): Shared {
  if (latest?.event !== event) latest = { event, columns: {}, numbers: {} }
  return latest
}

export const callOf = (event: Event, budget = budgetOf(MAX_WORK)): Call => ({
  event,
  original: event,
  columns: sharedOf(event).columns,
  budget,
})

/** The body of an event that is not redacted, rendered once for all destinations. */
export function sharedBody(event: Event, render: (event: Event) => string): string {
  const shared = sharedOf(event)
  shared.body ??= render(event)
  return shared.body
}

/** @returns whether the budget was sufficient. */
export function spend(budget: Budget, work: number): boolean {
  budget.work -= work
  if (budget.work < 0) return false
  budget.done += work
  return true
}

/** V8 takes up to 0.6 us to print some numbers with an exponent, many digits or many decimals. */
const SLOW_NUMBER = /\de[-+]|[\d.]{14}|\.\d{4}/g
const SLOW_NUMBER_WORK = 25

/** Added to the work of printing an object: it may hold all slow numbers of its column, or of any column. */
export function numbersWork(call: Call, root?: JsonRoot): number {
  if (!root) return JSON_ROOTS.reduce((sum, each) => sum + numbersWork(call, each), 0)
  const { numbers } = sharedOf(call.original)
  numbers[root] ??= slowWork(call.original[root])
  return numbers[root]
}

/** Printing so many characters takes at most 0.3 ms, whatever they are. Most columns are shorter and not searched. */
const SHORT = 4_096

function slowWork(text: string | null): number {
  if (text === null || text.length <= SHORT) return 0
  return SLOW_NUMBER_WORK * (text.match(SLOW_NUMBER)?.length ?? 0)
}

export const isContainer = (value: Json | undefined): value is Json[] | { [name: string]: Json } =>
  typeof value === 'object' && value !== null

/** @returns whether the budget was sufficient. */
export const spendPrinting = (value: Json | undefined, call: Call, root?: JsonRoot): boolean =>
  !isContainer(value) || spend(call.budget, numbersWork(call, root))

/** A column without the properties that the body adds (`shown`). */
export function column({ event, columns }: Call, root: JsonRoot): Json | undefined {
  if (root in columns) return columns[root]
  const text = event[root]
  const value = text === null ? undefined : (parseJson(text) as Json)
  columns[root] = root === 'context' ? withoutIntegrations(value) : value
  return columns[root]
}

/** The body leaves them out as well. */
function withoutIntegrations(context: Json | undefined): Json | undefined {
  if (!isObject(context) || !Object.hasOwn(context, 'integrations')) return context
  return withoutMember(context, 'integrations')
}

/** The body shows these fields as properties, unless the call has such properties. */
const SHOWN_AS_PROPERTIES = { page: ['name', 'category'], screen: ['category'] } as const

export const shownAsProperties = (type: Event['type']): readonly ('name' | 'category')[] =>
  type === 'page' || type === 'screen' ? SHOWN_AS_PROPERTIES[type] : []

/** A column as the body shows it; undefined once the budget is spent. */
function shown(call: Call, root: JsonRoot): Json | undefined {
  const value = column(call, root)
  const { event } = call
  const texts = root === 'properties' ? shownAsProperties(event.type) : []
  if (texts.every((name) => event[name] === null)) return value
  return spend(call.budget, event[root]?.length ?? 0) ? withTexts(value, texts, call) : undefined
}

/** Many paths may read the same event, and a copy of 32 KB takes up to 3 ms. */
const copies = new WeakMap<Event, { value: Json | undefined; properties: Json }>()

function withTexts(
  value: Json | undefined,
  texts: readonly ('name' | 'category')[],
  { event }: Pick<Call, 'event'>,
): Json {
  const before = copies.get(event)
  if (before && before.value === value) return before.properties
  const own = isObject(value) ? value : {}
  const added = texts.filter((name) => event[name] !== null && !Object.hasOwn(own, name))
  const properties = added.reduce((all, name) => withMember(all, name, event[name]), own)
  copies.set(event, { value, properties })
  return properties
}

/** The properties as the body shows them, as JSON. */
export function printProperties(event: Event): string | null {
  const texts = shownAsProperties(event.type).filter((name) => event[name] !== null)
  if (texts.length === 0) return event.properties
  return texts.reduce(
    (json, name) => addMember(json, name, JSON.stringify(event[name])),
    event.properties ?? '{}',
  )
}

/** Some libraries put the Integrations object, which is meant for Sluice, into the context. */
export const printContext = ({ context }: Event): string | null =>
  context === null ? null : cutMember(context, 'integrations')

/** A column as JSON; undefined once the budget is spent. */
export function printColumn(root: JsonRoot): (call: Call) => string | undefined {
  return ({ event, budget }) => {
    // a member is searched for in all of the text, even if the body shows little of it
    if (!spend(budget, event[root]?.length ?? 0)) return undefined
    if (root === 'properties') return printProperties(event) ?? undefined
    return (root === 'context' ? printContext(event) : event[root]) ?? undefined
  }
}

/** @returns undefined if missing. Null inside JSON is a value, but a null column is missing. */
export type Read = (call: Call) => Json | undefined

/** For a path without `[*]`. */
export function readOne({ root, keys }: Path): Read {
  const [first, ...rest] = keys
  if (first === undefined) return readRoot(root)
  const read = root === 'properties' ? readProperty(first) : readRoot(root)
  const names = root === 'properties' ? rest : keys
  return (call) => {
    let value = read(call)
    for (const key of names) {
      if (value === undefined) return
      value = step(value, key)
    }
    return value
  }
}

/** In characters read. */
const VALUE_WORK = 2

/** For a path with `[*]`: all values found, or none once the budget is spent. */
export function readEach({ root, keys }: Path): (call: Call) => Json[] {
  const read = readRoot(root)
  return (call) => {
    const value = read(call)
    let values = value === undefined ? [] : [value]
    for (const key of keys) {
      if (!spend(call.budget, VALUE_WORK * values.length)) return []
      values = values.flatMap((each) => {
        if (key === EACH) return Array.isArray(each) ? each : []
        const next = step(each, key)
        return next === undefined ? [] : [next]
      })
    }
    return spend(call.budget, VALUE_WORK * values.length) ? values : []
  }
}

export const hasEach = ({ keys }: Path): boolean => (keys as readonly Key[]).includes(EACH)

function readRoot(root: Root): Read {
  if (isJsonRoot(root)) return (call) => shown(call, root)
  if (root === 'timestamp' || root === 'receivedAt') return ({ event }) => new Date(event[root]).toISOString()
  return ({ event }) => event[root] ?? undefined
}

/** Avoids the copy of all properties that `shown` makes. */
function readProperty(name: Key): Read {
  return (call) => {
    const properties = column(call, 'properties')
    const own = properties === undefined ? undefined : step(properties, name)
    if (own !== undefined) return own
    const text = shownAsProperties(call.event.type).find((each) => each === name)
    return text && (call.event[text] ?? undefined)
  }
}

function step(value: Json, key: Key): Json | undefined {
  if (typeof key === 'string') return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return typeof key === 'number' && Array.isArray(value) ? value[key] : undefined
}
