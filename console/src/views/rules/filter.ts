import { EVENT_TYPES, type EventType } from '../../api/destinations.ts'
import { isOperator, type Operator } from '../../wording/conditions.ts'
import { isOneLine, isOperand, toLines, toOperand, toOperands, toText } from './operand.ts'

/** `exists` takes no value in the form, so `missing` is its opposite. */
export type FormOperator = Operator | 'missing'

/** As typed. `value`: one operand; one per line for `in` and `nin`; empty for `exists`. */
export type ConditionDraft = { key: number; path: string; operator: FormOperator; value: string }

/** Events with one of these names and types that meet `all` or `any` conditions. An empty list accepts all. */
export type FilterDraft = {
  eventNames: readonly string[]
  types: readonly EventType[]
  match: 'all' | 'any'
  conditions: readonly ConditionDraft[]
}

/** The API may accept fewer: it also counts event names and types. */
export const MAX_CONDITIONS = 100

export const NO_FILTER: FilterDraft = { eventNames: [], types: [], match: 'all', conditions: [] }

let lastKey = 0
export const newCondition = (): ConditionDraft => ({ key: ++lastKey, path: '', operator: 'eq', value: '' })

/** A single-line field would hide the other values of a list, so only the first stays. */
export function withOperator(condition: ConditionDraft, operator: FormOperator): ConditionDraft {
  const [first = ''] = condition.value.split(/[\n\r]+/).filter((line) => line.trim() !== '')
  const isOne = hasValue(operator) && !isListOperator(operator) && !isOneLine(condition.value)
  return { ...condition, operator, value: isOne ? first : condition.value }
}

/** What a condition compares with. `text`: strings only, so digits need no quotes. */
const OPERANDS: Record<FormOperator, 'scalar' | 'list' | 'text' | 'none'> = {
  eq: 'scalar',
  ne: 'scalar',
  in: 'list',
  nin: 'list',
  exists: 'none',
  missing: 'none',
  startsWith: 'text',
  endsWith: 'text',
  contains: 'text',
  gt: 'scalar',
  gte: 'scalar',
  lt: 'scalar',
  lte: 'scalar',
  matches: 'text',
}

export const isListOperator = (operator: FormOperator): boolean => OPERANDS[operator] === 'list'
export const hasValue = (operator: FormOperator): boolean => OPERANDS[operator] !== 'none'
const isTextOperator = (operator: FormOperator): boolean => OPERANDS[operator] === 'text'

type Leaf = { path: string; [operator: string]: unknown }
export type Condition = Leaf | { all: Condition[] } | { any: Condition[] }

/** The field of this name, or the condition with this key. */
type Origin = 'eventNames' | 'types' | number
type Placed = { origin: Origin; condition: Condition }

/** The filter (undefined if all events pass), and the JSON pointer in it of each field with a value. */
export function toFilter(draft: FilterDraft): {
  filter: Condition | undefined
  pointers: ReadonlyMap<Origin, string>
} {
  const [fixed, typed] = [fixedConditions(draft), typedConditions(draft)]
  if (draft.match === 'all' || typed.length < 2) return group('all', [...fixed, ...typed])
  const any = group('any', typed)
  if (fixed.length === 0) return any
  const { filter, pointers } = group('all', fixed, any.filter)
  const inner = [...any.pointers].map(([origin, at]) => [origin, `/all/${fixed.length}${at}`] as const)
  return { filter, pointers: new Map([...pointers, ...inner]) }
}

function group(name: 'all' | 'any', placed: readonly Placed[], last?: Condition) {
  const conditions = [...placed.map(({ condition }) => condition), ...(last ? [last] : [])]
  const isBare = conditions.length < 2
  const pointers = placed.map(({ origin }, at) => [origin, isBare ? '' : `/${name}/${at}`] as const)
  const all: Condition = name === 'all' ? { all: conditions } : { any: conditions }
  return { filter: isBare ? conditions[0] : all, pointers: new Map<Origin, string>(pointers) }
}

function fixedConditions({ eventNames, types }: FilterDraft): Placed[] {
  const names: Placed = { origin: 'eventNames', condition: { path: 'event', in: [...eventNames] } }
  const ofTypes: Placed = { origin: 'types', condition: { path: 'type', in: [...types] } }
  return [...(eventNames.length > 0 ? [names] : []), ...(types.length > 0 ? [ofTypes] : [])]
}

const typedConditions = ({ conditions }: FilterDraft): Placed[] =>
  conditions
    .filter((draft) => missingIn(draft) === undefined)
    .map((draft) => ({ origin: draft.key, condition: toCondition(draft) }))

/** What keeps a condition out of the filter. */
export function missingIn({ path, operator, value }: ConditionDraft): 'path' | 'value' | undefined {
  if (path.trim() === '') return 'path'
  const isEmpty = isTextOperator(operator) ? value === '' : value.trim() === ''
  return isEmpty && hasValue(operator) ? 'value' : undefined
}

function toCondition({ path, operator, value }: ConditionDraft): Leaf {
  const at = { path: path.trim() }
  if (!hasValue(operator)) return { ...at, exists: operator === 'exists' }
  if (isListOperator(operator)) return { ...at, [operator]: toOperands(value) }
  return { ...at, [operator]: isTextOperator(operator) ? value : toOperand(value) }
}

/** @returns undefined if the form cannot show the filter. */
export function toFilterDraft(filter: unknown): FilterDraft | undefined {
  if (filter === undefined) return NO_FILTER
  const members = membersOf(filter, 'all') ?? [filter]
  const names = members.find((each) => eventNamesOf(each))
  const ofTypes = members.find((each) => typesOf(each))
  const [first, ...others] = members.filter((each) => each !== names && each !== ofTypes)
  const anyOf = others.length === 0 ? membersOf(first, 'any') : undefined
  const leaves = anyOf ?? (first === undefined ? [] : [first, ...others])
  const conditions = leaves.flatMap((each) => toConditionDraft(each) ?? [])
  if (conditions.length < leaves.length) return undefined
  const fixed = { eventNames: eventNamesOf(names) ?? [], types: typesOf(ofTypes) ?? [] }
  return { ...fixed, match: anyOf ? 'any' : 'all', conditions }
}

/** The members of a non-empty group. */
function membersOf(condition: unknown, name: 'all' | 'any'): unknown[] | undefined {
  const [member, ...others] = Object.entries(condition ?? {})
  if (!member || others.length > 0 || member[0] !== name) return undefined
  const [, conditions] = member
  return Array.isArray(conditions) && conditions.length > 0 ? conditions : undefined
}

/** A leaf's path, only operator and value. */
function testOf(condition: unknown): { path: string; operator: Operator; value: unknown } | undefined {
  const members = new Map<string, unknown>(Object.entries(condition ?? {}))
  const path = members.get('path')
  const [test, ...others] = [...members].filter(([name]) => name !== 'path')
  if (typeof path !== 'string' || path === '' || path !== path.trim()) return undefined
  if (!test || others.length > 0) return undefined
  const [operator, value] = test
  return isOperator(operator) ? { path, operator, value } : undefined
}

function listAt(condition: unknown, at: string): readonly unknown[] | undefined {
  const { path, operator, value } = testOf(condition) ?? {}
  const isList = path === at && operator === 'in' && Array.isArray(value) && value.length > 0
  return isList ? value : undefined
}

function eventNamesOf(condition: unknown): string[] | undefined {
  const listed = listAt(condition, 'event')
  const names = listed?.filter((name) => typeof name === 'string')
  return names?.length === listed?.length ? names : undefined
}

function typesOf(condition: unknown): EventType[] | undefined {
  const listed = listAt(condition, 'type')
  const types = EVENT_TYPES.filter((type) => listed?.includes(type))
  return listed && types.length === listed.length ? types : undefined
}

function toConditionDraft(condition: unknown): ConditionDraft | undefined {
  const { path, operator, value } = testOf(condition) ?? {}
  if (path === undefined || operator === undefined) return undefined
  const draft = { key: ++lastKey, path }
  if (operator === 'exists')
    return typeof value === 'boolean'
      ? { ...draft, operator: value ? 'exists' : 'missing', value: '' }
      : undefined
  const text = textOf(operator, value)
  return text === undefined ? undefined : { ...draft, operator, value: text }
}

function textOf(operator: Operator, value: unknown): string | undefined {
  if (isListOperator(operator)) {
    const listed: readonly unknown[] = Array.isArray(value) ? value : [undefined]
    const operands = listed.filter(isOperand)
    return operands.length === listed.length && operands.length > 0 ? toLines(operands) : undefined
  }
  if (isTextOperator(operator))
    return typeof value === 'string' && value !== '' && isOneLine(value) ? value : undefined
  return isOperand(value) ? toText(value) : undefined
}
