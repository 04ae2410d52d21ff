import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../process/json-objects.ts'
import { pointer } from '../../process/json-pointer.ts'
import { maskUrl } from '../../settings/mask.ts'
import { mapSecrets } from '../../settings/seal.ts'
import type { Changes } from '../api/audit.ts'

/** In every audit line anyway. */
const STAMPS = ['id', 'version', 'updatedAt']
const SECRET = '\0secret '

/**
 * Leaves out secrets, user ids, everything after the host of a URL, and values in rules, which can be user ids or API
 * keys.
 */
export function changesOf(old: object | undefined, record: object | undefined): Changes {
  const [before, after] = [fieldsOf(old), fieldsOf(record)]
  const changes: Changes = {}
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [from, to] = [before.get(name), after.get(name)]
    if (!isDeepStrictEqual(from, to)) changes[name] = change(shown(name, from), shown(name, to))
  }
  return changes
}

function change(from: unknown, to: unknown): Changes[string] {
  if (from === HIDDEN || to === HIDDEN || isDeepStrictEqual(from, to)) return 'changed'
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

const HIDDEN = Symbol('hidden')

const RULE_VALUE = /^\/rules\/(shape|filter\/(?!(.*\/)?(path|exists)$))/

function shown(name: string, value: unknown): unknown {
  if (value !== undefined && RULE_VALUE.test(name)) return HIDDEN
  if (typeof value !== 'string') return value
  if (value.startsWith(SECRET) || name === '/userId') return HIDDEN
  // URLs may hold tokens
  if (/^\/webhooks\/\d+\/url$/.test(name)) return maskUrl(value)
  return value
}

/** By JSON pointer. A list of plain values is one field. */
function fieldsOf(record: object | undefined): Map<string, unknown> {
  const fields = new Map<string, unknown>()
  if (record)
    collect(
      mapSecrets(record, (secret) => SECRET + secret),
      [],
      fields,
    )
  return fields
}

function collect(value: unknown, path: readonly PropertyKey[], fields: Map<string, unknown>): void {
  const isList = Array.isArray(value) && value.some(isObject)
  if (!isObject(value) && !isList) fields.set(pointer(path), value)
  else
    for (const [name, inner] of Object.entries(value))
      if (path.length > 0 || !STAMPS.includes(name)) collect(inner, [...path, name], fields)
}
