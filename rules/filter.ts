import { type Call, hasEach, type Json, readEach, readOne, spend } from './call.ts'
import { isWrong, type Path, parsePath } from './path.ts'
import { compilePattern } from './pattern.ts'
import { type Filter, OPERATORS, type Operator, type Scalar } from './rules.ts'

/** @returns undefined if it holds, otherwise a JSON pointer to the condition that does not. */
export type Decide = (call: Call) => string | undefined

type Holds = (value: Json, call: Call) => boolean

/** Deeper stored filters do not compile. The limit for new ones is lower. */
const MAX_NESTING = 32

export function compileFilter(filter: Filter, pointer = '/filter', depth = 1): Decide | undefined {
  if (depth > MAX_NESTING) return
  const { all, any, not } = filter
  if (all) return compileEach(all, { pointer: `${pointer}/all`, depth, join: allOf })
  if (any) return compileEach(any, { pointer: `${pointer}/any`, depth, join: anyOf })
  if (!not) return compileCondition(filter, pointer)
  const inner = compileFilter(not, `${pointer}/not`, depth + 1)
  return inner && ((call) => (inner(call) === undefined ? `${pointer}/not` : undefined))
}

type Group = { pointer: string; depth: number; join: (filters: readonly Decide[], pointer: string) => Decide }

function compileEach(filters: readonly Filter[], { pointer, depth, join }: Group): Decide | undefined {
  const compiled = filters.map((filter, index) => compileFilter(filter, `${pointer}/${index}`, depth + 1))
  const valid = compiled.filter((each) => each !== undefined)
  return valid.length === compiled.length ? join(valid, pointer) : undefined
}

const allOf = (filters: readonly Decide[]): Decide => {
  return (call) => {
    for (const filter of filters) {
      const failed = filter(call)
      if (failed !== undefined) return failed
    }
    return
  }
}

const anyOf = (filters: readonly Decide[], pointer: string): Decide => {
  return (call) => {
    for (const filter of filters) if (filter(call) === undefined) return
    return pointer
  }
}

/** New conditions have exactly one. */
export const operatorsOf = (filter: Filter): Operator[] =>
  OPERATORS.filter((name) => filter[name] !== undefined)

function compileCondition(filter: Filter, pointer: string): Decide | undefined {
  const [operator] = operatorsOf(filter)
  const path = parsePath(filter.path ?? '')
  if (operator === undefined || isWrong(path)) return
  if (operator === 'exists') {
    const exists = existence(path)
    return (call) => (exists(call) === filter.exists ? undefined : pointer)
  }
  const holds = compileOperator(operator, filter)
  if (!holds) return
  if (hasEach(path)) {
    const read = readEach(path)
    return (call) => (read(call).some((value) => holds(value, call)) ? undefined : pointer)
  }
  const read = readOne(path)
  return (call) => {
    const value = read(call)
    return value !== undefined && holds(value, call) ? undefined : pointer
  }
}

function existence(path: Path): (call: Call) => boolean {
  if (!hasEach(path)) {
    const read = readOne(path)
    return (call) => read(call) !== undefined
  }
  const read = readEach(path)
  return (call) => read(call).length > 0
}

function compileOperator(operator: Exclude<Operator, 'exists'>, filter: Filter): Holds | undefined {
  switch (operator) {
    case 'eq':
      return (value) => value === filter.eq
    case 'ne':
      return (value) => value !== filter.ne
    case 'in': {
      const values = new Set<Json>(filter.in)
      return (value) => values.has(value)
    }
    case 'nin': {
      const values = new Set<Json>(filter.nin)
      return (value) => !values.has(value)
    }
    case 'startsWith':
    case 'endsWith':
    case 'contains':
      return compileText(operator, filter[operator] ?? '')
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return compileOrder(operator, filter[operator] ?? 0)
    case 'matches':
      return compileMatches(filter.matches ?? '')
    default:
      return operator satisfies never
  }
}

function compileText(operator: 'startsWith' | 'endsWith' | 'contains', part: string): Holds {
  if (operator === 'startsWith') return (value) => typeof value === 'string' && value.startsWith(part)
  if (operator === 'endsWith') return (value) => typeof value === 'string' && value.endsWith(part)
  return (value, { budget }) =>
    typeof value === 'string' && spend(budget, value.length) && value.includes(part)
}

const ORDER = {
  gt: <T>(a: T, b: T) => a > b,
  gte: <T>(a: T, b: T) => a >= b,
  lt: <T>(a: T, b: T) => a < b,
  lte: <T>(a: T, b: T) => a <= b,
}

function compileOrder(operator: keyof typeof ORDER, operand: number | string): Holds {
  const holds = ORDER[operator]
  const type = typeof operand
  return (value) => typeof value === type && holds(value, operand)
}

function compileMatches(text: string): Holds | undefined {
  const pattern = compilePattern(text)
  if (isWrong(pattern)) return
  const { test, instructions } = pattern
  return (value, { budget }) =>
    typeof value === 'string' && spend(budget, instructions * (value.length + 1)) && test(value)
}

/** The event names that can pass, and maybe others, besides deletions. Undefined if any event can pass. */
export function eventNamesOf({
  all,
  any,
  not,
  path,
  eq,
  in: values,
}: Filter): ReadonlySet<string> | undefined {
  if (all) return all.map(eventNamesOf).reduce(intersection, undefined)
  if (any) return union(any.map(eventNamesOf))
  if (not || path !== 'event') return
  if (eq !== undefined) return textsOf([eq])
  return values && textsOf(values)
}

const textsOf = (values: readonly Scalar[]) => new Set(values.filter((value) => typeof value === 'string'))

type Names = ReadonlySet<string> | undefined

function intersection(a: Names, b: Names): Names {
  if (!a || !b) return a ?? b
  return new Set([...a].filter((name) => b.has(name)))
}

function union(sets: readonly Names[]): Names {
  const bounded = sets.filter((set) => set !== undefined)
  return bounded.length === sets.length ? new Set(bounded.flatMap((set) => [...set])) : undefined
}
