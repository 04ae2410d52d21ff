import type { z } from 'zod'
import { pointer } from '../process/json-pointer.ts'
import type { FaultCode } from './error-codes.ts'
import { fieldsAt, unknownField } from './unknown-field.ts'

/** `pointer`: RFC 6901, into the body or the query; `''` is the whole. */
export type Fault = { pointer: string; code: FaultCode; message: string }

type Issue = z.core.$ZodIssue
type IssueContext = { path: readonly PropertyKey[]; schema: z.ZodType; isName?: boolean }

/**
 * All issues, in order. Parse with `reportInput`, which tells missing fields from wrong ones.
 * @param schema used to name the possible fields.
 */
export function faultsOf(error: z.ZodError, schema: z.ZodType): Fault[] {
  return error.issues.flatMap((issue) => faultsOfIssue(issue, { path: issue.path, schema }))
}

function faultsOfIssue(issue: Issue, context: IssueContext): Fault[] {
  const at = pointer(context.path)
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownFields(issue.keys, context)
    case 'invalid_key':
      // the code depends on the name of a member, not on the record
      return issue.issues.flatMap((inner) => faultsOfIssue(inner, { ...context, isName: true }))
    case 'invalid_type':
      return [{ pointer: at, ...wrongType(issue) }]
    case 'invalid_value': {
      const message = `use one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
      return [{ pointer: at, code: 'invalid_value', message }]
    }
    default:
      return [{ pointer: at, code: codeOf(issue, context), message: messageOf(issue) }]
  }
}

/** Responses list no more. Comparing each of 450 names took 1 ms, for a sign-in of 4 KB. */
export const MAX_FAULTS = 100

function unknownFields(names: readonly string[], { path, schema }: IssueContext): Fault[] {
  const allowed = fieldsAt(schema, path)
  return names.map((name, index) => ({
    pointer: pointer([...path, name]),
    code: 'unknown_field',
    message: index < MAX_FAULTS ? unknownField(name, allowed) : 'unknown field',
  }))
}

const ARTICLES: Record<string, string> = {
  array: 'an array',
  object: 'an object',
  record: 'an object',
  int: 'a whole number',
}

function wrongType({ expected, input }: Extract<Issue, { code: 'invalid_type' }>): Omit<Fault, 'pointer'> {
  const expectedType = ARTICLES[expected] ?? `a ${expected}`
  if (input === undefined) return { code: 'required', message: `is required: give ${expectedType}` }
  return { code: 'invalid_type', message: `give ${expectedType}` }
}

const TOO_BIG: Record<string, FaultCode> = { array: 'too_many', string: 'too_long' }
const TOO_SMALL: Record<string, FaultCode> = { array: 'too_few', string: 'too_short' }

/** Clients rely on codes. Custom rules of a schema get theirs from their place. */
function codeOf(issue: Issue, { path, isName }: IssueContext): FaultCode {
  const [parent, last] = [path.at(-2), path.at(-1)]
  if (issue.code === 'too_big') return TOO_BIG[issue.origin] ?? issue.code
  if (issue.code === 'too_small') return TOO_SMALL[issue.origin] ?? issue.code
  if (isName && parent === 'headers')
    return issue.code === 'custom' ? 'reserved_header' : 'invalid_header_name'
  if (parent === 'headers') return 'invalid_header_value'
  if (issue.code === 'invalid_format') return issue.code
  if (last === 'url') return 'invalid_url'
  if (last === 'headers') return issue.message.startsWith('at most') ? 'too_many' : 'duplicate_header'
  return 'invalid_value'
}

const UNITS: Record<string, string> = { array: ' entries', string: ' characters' }

function messageOf(issue: Issue): string {
  if (issue.code === 'invalid_format' && issue.format === 'datetime')
    return 'give a time with its zone, such as 2026-01-02T03:04:05Z'
  if (!/^Too (big|small)/.test(issue.message)) return issue.message
  if (issue.code === 'too_big') return `at most ${issue.maximum}${UNITS[issue.origin] ?? ''}`
  if (issue.code !== 'too_small') return issue.message
  return `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}${UNITS[issue.origin] ?? ''}`
}

export type Members = Record<string, unknown>
