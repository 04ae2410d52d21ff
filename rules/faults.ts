import { z } from 'zod'
import { pointer } from '../process/json-pointer.ts'
import type { FaultCode } from '../settings/error-codes.ts'
import type { Fault } from '../settings/faults.ts'
import { operatorsOf } from './filter.ts'
import { isJsonRoot, isWrong, parsePath } from './path.ts'
import { compilePattern } from './pattern.ts'
import { isRedactable } from './redact.ts'
import { type Filter, type Redact, rulesShape } from './rules.ts'
import { countPlaceholders, parseTemplate } from './template.ts'

export const MAX_CONDITIONS = 100
/** Each may take 10 ms to compile. */
export const MAX_PATTERNS = 20
export const MAX_DEPTH = 10
export const MAX_VALUES = 1_000
const MAX_TEXT = 1_024
export const MAX_REDACTIONS = 100
export const MAX_PLACEHOLDERS = 200
export const MAX_RULES_CHARACTERS = 64 * 1024

type At = readonly PropertyKey[]

/** A misshapen part must not hide faults of the others. */
const fittingParts = z.object({
  filter: rulesShape.shape.filter.catch(undefined),
  redact: rulesShape.shape.redact.catch(undefined),
  shape: rulesShape.shape.shape.catch(undefined),
})

/**
 * What `rulesShape` does not find in new rules. Stored rules are exempt.
 * @param at path of the rules in the request.
 */
export function rulesFaults(rules: unknown, at: At): Fault[] {
  const { data } = fittingParts.safeParse(rules)
  if (!data) return []
  const characters = JSON.stringify(rules).length
  if (characters > MAX_RULES_CHARACTERS) {
    const message = `the rules have ${characters.toLocaleString('en-US')} characters as JSON: at most 65,536 are allowed`
    return [fault(at, 'too_large', message)]
  }
  const { filter, redact = [], shape } = data
  return [
    ...(filter ? filterFaults(filter, [...at, 'filter']) : []),
    ...redactFaults(redact, [...at, 'redact']),
    ...(shape === undefined ? [] : shapeFaults(shape, [...at, 'shape'])),
  ]
}

const fault = (at: At, code: FaultCode, message: string): Fault => ({ pointer: pointer(at), code, message })

function tooMany(count: number, { most, of }: { most: number; of: string }, at: At): Fault[] {
  return count <= most ? [] : [fault(at, 'too_many', `has ${count} ${of}: at most ${most} are allowed`)]
}

function filterFaults(filter: Filter, at: At): Fault[] {
  const conditions = conditionsOf(filter)
  const patterns = conditions.filter(({ matches }) => matches !== undefined).length
  const found = [
    ...tooMany(conditions.length, { most: MAX_CONDITIONS, of: 'conditions' }, at),
    ...tooMany(patterns, { most: MAX_PATTERNS, of: 'conditions with matches' }, at),
  ]
  // compiling a thousand patterns would take seconds
  return patterns > MAX_PATTERNS ? found : [...found, ...nodeFaults(filter, at, 1)]
}

function conditionsOf(filter: Filter): Filter[] {
  const { all, any, not } = filter
  const inner = [...(all ?? []), ...(any ?? []), ...(not ? [not] : [])]
  return inner.length === 0 ? [filter] : inner.flatMap(conditionsOf)
}

const KINDS = ['all', 'any', 'not', 'path'] as const

function nodeFaults(filter: Filter, at: At, depth: number): Fault[] {
  if (depth > MAX_DEPTH) return [fault(at, 'too_deep', `is nested deeper than ${MAX_DEPTH} levels`)]
  const kinds = KINDS.filter((kind) => filter[kind] !== undefined)
  const operators = operatorsOf(filter)
  const [kind] = kinds
  if (kind === undefined) {
    const message = 'give one of all, any, not, or a path with an operator'
    return [fault(at, 'required', message)]
  }
  if (kinds.length > 1 || (kind !== 'path' && operators.length > 0)) {
    const message = `give only one of all, any, not, or a path with an operator: found ${[...kinds, ...operators].join(', ')}`
    return [fault(at, 'invalid_value', message)]
  }
  if (kind === 'path') return conditionFaults(filter, at)
  if (kind === 'not') return filter.not ? nodeFaults(filter.not, [...at, 'not'], depth + 1) : []
  const entries = filter[kind] ?? []
  if (entries.length === 0) return [fault([...at, kind], 'too_few', 'at least one filter')]
  return entries.flatMap((entry, index) => nodeFaults(entry, [...at, kind, index], depth + 1))
}

function conditionFaults(filter: Filter, at: At): Fault[] {
  const found = pathFaults(filter.path ?? '', [...at, 'path'])
  const operators = operatorsOf(filter)
  const [operator] = operators
  if (operator === undefined)
    return [...found, fault(at, 'required', `${filter.path}: give an operator, such as eq`)]
  if (operators.length > 1) {
    const message = `${filter.path}: give only one operator, and combine conditions with all: found ${operators.join(', ')}`
    return [...found, fault(at, 'invalid_value', message)]
  }
  return [...found, ...operandFaults(filter[operator], [...at, operator], String(filter.path))]
}

function operandFaults(operand: unknown, at: At, path: string): Fault[] {
  if (Array.isArray(operand)) {
    if (operand.length === 0) return [fault(at, 'too_few', `${path}: at least one value`)]
    if (operand.length > MAX_VALUES) return [fault(at, 'too_many', `${path}: at most 1,000 values`)]
    return operand.flatMap((value, index) => operandFaults(value, [...at, index], path))
  }
  if (typeof operand !== 'string') return []
  if (at.at(-1) === 'matches') {
    const pattern = compilePattern(operand)
    return isWrong(pattern) ? [fault(at, 'invalid_pattern', `${path}: ${pattern.wrong}`)] : []
  }
  return operand.length > MAX_TEXT ? [fault(at, 'too_long', `${path}: at most 1,024 characters`)] : []
}

function pathFaults(text: string, at: At): Fault[] {
  const path = parsePath(text)
  if (!isWrong(path)) return []
  return [fault(at, 'invalid_path', text === '' ? path.wrong : `${text.slice(0, MAX_TEXT)}: ${path.wrong}`)]
}

function redactFaults(items: readonly Redact[], at: At): Fault[] {
  if (items.length > MAX_REDACTIONS)
    return [fault(at, 'too_many', `has ${items.length} entries: at most ${MAX_REDACTIONS} are allowed`)]
  return items.flatMap(({ path: text, as }, index) => {
    const place = [...at, index]
    const path = parsePath(text)
    if (isWrong(path)) return pathFaults(text, [...place, 'path'])
    if (!isRedactable(path.root))
      return [
        fault([...place, 'path'], 'invalid_value', `${text}: cannot be redacted, because deliveries need it`),
      ]
    if (isJsonRoot(path.root) && path.keys.length === 0 && as !== 'drop')
      return [fault([...place, 'as'], 'invalid_value', `${text}: an object can only be dropped`)]
    return []
  })
}

const shapeFaults = (shape: unknown, at: At): Fault[] => [
  ...tooMany(placeholdersOf(shape), { most: MAX_PLACEHOLDERS, of: 'placeholders' }, at),
  ...valueFaults(shape, at, 1),
]

function valueFaults(value: unknown, at: At, depth: number): Fault[] {
  if (typeof value === 'string') {
    const template = parseTemplate(value)
    return isWrong(template) ? [fault(at, 'invalid_placeholder', template.wrong)] : []
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    return [fault(at, 'invalid_value', 'JSON cannot represent this number')]
  if (typeof value !== 'object' || value === null) return []
  if (depth > MAX_DEPTH) return [fault(at, 'too_deep', `is nested deeper than ${MAX_DEPTH} levels`)]
  const entries: [PropertyKey, unknown][] = Array.isArray(value)
    ? value.map((entry, index) => [index, entry])
    : Object.entries(value)
  return entries.flatMap(([name, entry]) => valueFaults(entry, [...at, name], depth + 1))
}

function placeholdersOf(value: unknown): number {
  if (typeof value === 'string') return countPlaceholders(value)
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, entry) => sum + placeholdersOf(entry), 0)
}
