import { isDeepStrictEqual } from 'node:util'
import { isObject, pointer } from '../../settings/faults.ts'
import { maskUrl } from '../../settings/mask.ts'
import { mapSecrets } from '../../settings/seal.ts'

/** By JSON pointer, what a field was and is; `changed`: that is not to be told. */
export type Changes = Record<string, { from?: unknown; to?: unknown } | 'changed'>

/** Said of every write beside them. */
const STAMPS = ['id', 'version', 'updatedAt']
const SECRET = '\0secret '

/**
 * What is different in a record from what it was; undefined where there is none before or after. Secrets, users' ids and what
 * stands in a URL behind its host are not in it.
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

/** What cannot be told, or would look the same. */
function change(from: unknown, to: unknown): Changes[string] {
  if (from === HIDDEN || to === HIDDEN || isDeepStrictEqual(from, to)) return 'changed'
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

const HIDDEN = Symbol('hidden')

function shown(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (value.startsWith(SECRET) || name === '/userId') return HIDDEN
  // tokens stand there
  if (/^\/webhooks\/\d+\/url$/.test(name)) return maskUrl(value)
  return value
}

/** The fields of a record, those of objects within it too. A list of plain values is one. */
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
