import type { Schemas } from '../api/client/client.ts'
import { valueAt } from '../api/client/errors.ts'

export type Operator = Exclude<keyof Schemas['RulesFilter'], 'all' | 'any' | 'not' | 'path'>

/** The words between path and value. */
export const OPERATORS = {
  eq: 'is',
  ne: 'is not',
  in: 'is one of',
  nin: 'is none of',
  exists: 'exists',
  startsWith: 'starts with',
  endsWith: 'ends with',
  contains: 'contains',
  gt: 'is greater than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  matches: 'matches',
} as const satisfies Record<Operator, string>

export const isOperator = (name: string): name is Operator => Object.hasOwn(OPERATORS, name)

/** Longer ones would hide the rest of the sentence. */
const MAX_CHARACTERS = 80
const MAX_VALUES = 5

/** Without a period: `event is one of “Paid”, “Refunded” and properties.total is at least 10`. */
export function conditionWords(condition: unknown): string {
  const { all, any, not, ...leaf } = membersOf(condition)
  if (Array.isArray(all)) return groupWords(all, ' and ')
  if (Array.isArray(any)) return groupWords(any, ' or ')
  if (not !== undefined) return `not (${conditionWords(not)})`
  const tests = Object.entries(leaf).filter(([name]) => isOperator(name))
  if (typeof leaf.path !== 'string' || tests.length === 0) return valueWords(condition)
  return `${leaf.path} ${tests.map(([name, value]) => testWords(name, value)).join(' and ')}`
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

function groupWords(conditions: readonly unknown[], separator: string): string {
  const words = conditions.map((each) => (isGroup(each) ? `(${conditionWords(each)})` : conditionWords(each)))
  return words.length === 0 ? 'no condition' : words.join(separator)
}

/** A group of one needs no parentheses. */
function isGroup(condition: unknown): boolean {
  const { all, any } = membersOf(condition)
  return [all, any].some((group) => Array.isArray(group) && group.length > 1)
}

function testWords(name: string, value: unknown): string {
  if (name === 'exists') return value === false ? 'is missing' : 'exists'
  const words = isOperator(name) ? OPERATORS[name] : name
  if (!Array.isArray(value)) return `${words} ${valueWords(value)}`
  const isSingle = value.length === 1
  return `${isSingle ? words.replace(/ one of$/, '').replace(/none of$/, 'not') : words} ${listWords(value)}`
}

function listWords(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_VALUES).map(valueWords)
  const others = values.length - shown.length
  return others === 0 ? shown.join(', ') : `${shown.join(', ')} and ${others} more`
}

function valueWords(value: unknown): string {
  if (typeof value === 'string') return `“${shortened(value)}”`
  return shortened(JSON.stringify(value) ?? '')
}

const shortened = (text: string) =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS).trimEnd()}…` : text

/**
 * Why a filter excludes an event.
 * @param pointer into the rules, to the deciding condition or list of an `any`.
 * @returns undefined if nothing is there, because the rules have changed.
 */
export function decidingWords(rules: unknown, pointer: string): string | undefined {
  const decided = valueAt(rules, pointer)
  if (decided === undefined) return undefined
  const words = conditionWords(Array.isArray(decided) ? { any: decided } : decided)
  const negations = pointer.split('/').filter((part) => part === 'not').length
  return `${negations % 2 === 0 ? 'It does not meet' : 'It is excluded by'}: ${words}`
}
