import type { z } from 'zod'
import { nearest } from '../process/nearest.ts'

/** Names the field that may be meant, and those that exist. */
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
