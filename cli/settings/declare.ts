import { isObject } from '../../process/json-objects.ts'
import { faultsOf, type Members } from '../../settings/faults.ts'
import { idShape } from '../../settings/settings.ts'
import { suppressionId } from '../../settings/suppression-list.ts'
import type { Fault } from '../api/client.ts'
import type { Env } from '../context.ts'
import { type File, type Parsed, parse } from './files.ts'
import { inOrder, type LocatedFault, partsOf, type SourceLocation } from './location.ts'
import { COLLECTIONS, type Collection, nameOf, type Ref, recordShapes } from './schema.ts'

export type Declared = Ref & {
  body: Members
  located(fault: Fault): LocatedFault
}

export type Declaration = {
  records: readonly Declared[]
  /** Collections in the files, even with an empty list. */
  collections: ReadonlySet<Collection>
}

/**
 * Reads all files as one declaration and collects local faults. `records`: those with an id. `filledIn`:
 * values of variables, never printed.
 */
export function declare(
  files: readonly File[],
  env: Env,
): Declaration & { faults: readonly LocatedFault[]; filledIn: ReadonlySet<string> } {
  const parsed = files.map((file) => parse(file, env))
  const found = parsed.flatMap(({ documents }) => documents).map(recordsIn)
  const records = found.flatMap((document) => document.records)
  const faults = [...parsed, ...found].flatMap((each) => each.faults)
  // a missing variable is already reported: skip its field's fault
  const more = atOtherLocations(
    faults,
    found.flatMap(({ shapeFaults }) => shapeFaults),
  )
  return {
    records,
    collections: new Set(found.flatMap((document) => document.collections)),
    faults: inOrder([...faults, ...more, ...repeated(records)]),
    filledIn: new Set(parsed.flatMap((each) => each.filledIn)),
  }
}

function atOtherLocations(known: readonly LocatedFault[], faults: readonly LocatedFault[]): LocatedFault[] {
  const locations = new Set(known.map(({ location }) => JSON.stringify(location)))
  return faults.filter(({ location }) => !locations.has(JSON.stringify(location)))
}

/** Local and planned faults. References to sources are not checked if a record could not be read. */
export function allFaults(local: readonly LocatedFault[], planned: readonly LocatedFault[]): LocatedFault[] {
  const isUnread = local.some(({ code }) => code === 'invalid_yaml' || code === 'invalid_form')
  const relevant = planned.filter(({ code }) => !(isUnread && code === 'unknown_source'))
  return inOrder([...local, ...atOtherLocations(local, relevant)])
}

type Found = {
  records: Declared[]
  collections: Collection[]
  faults: LocatedFault[]
  shapeFaults: LocatedFault[]
}

const isCollection = (key: string): key is Collection => COLLECTIONS.some((each) => each === key)

const malformed = (location: SourceLocation, message: string): LocatedFault => ({
  location,
  code: 'invalid_form',
  message,
})

function recordsIn(document: Parsed): Found {
  const { value, at } = document
  const found: Found = { records: [], collections: [], faults: [], shapeFaults: [] }
  if (value !== null && !isObject(value))
    found.faults.push(malformed(at([]), `the keys of a file must be ${COLLECTIONS.join(', ')}`))
  for (const [key, list] of Object.entries(isObject(value) ? value : {})) {
    if (!isCollection(key))
      found.faults.push(malformed(at([key], true), `unknown key ${key}: use ${COLLECTIONS.join(', ')}`))
    else if (!Array.isArray(list))
      found.faults.push(malformed(at([key]), 'must be a list of records; use [] for none'))
    else {
      found.collections.push(key)
      list.forEach((record: unknown, index) => {
        addRecord(document, { collection: key, index, record }, found)
      })
    }
  }
  return found
}

function addRecord(
  { at }: Parsed,
  { collection, index, record }: { collection: Collection; index: number; record: unknown },
  found: Found,
): void {
  if (!isObject(record)) {
    found.faults.push(malformed(at([collection, index]), 'must be a record: an object with an id'))
    return
  }
  const id = collection === 'suppressions' ? suppressionIdOf(record, index) : idShape.safeParse(record.id)
  const named = id.success ? nameOf({ collection, id: id.data }) : `${collection}[${index}]`
  const located = locating(named, (path, atKey) => at([collection, index, ...path], atKey))
  const faults = shapeFaults(collection, record)
  if (id.success) found.records.push({ collection, id: id.data, body: record, located })
  else {
    const message = `each record needs an id: ${ID_FORM}`
    found.faults.push({ location: at([collection, index, 'id']), code: 'invalid_id', message })
  }
  found.shapeFaults.push(...faults.filter(({ pointer }) => id.success || pointer !== '/id').map(located))
}

/** With a faulty shape, any id will do: the shape's fault is reported. */
function suppressionIdOf(record: Members, index: number): { success: true; data: string } {
  const { data } = recordShapes.suppressions.safeParse(record)
  return { success: true, data: data ? suppressionId(data) : `faulty-${index}` }
}

const ID_FORM = '1 to 64 of a-z, 0-9, _ and -'

/** Faults of a field's name, not its value. */
const FAULTS_OF_NAMES: ReadonlySet<string> = new Set([
  'unknown_field',
  'reserved_header',
  'invalid_header_name',
])

/** @param at takes a path within the record */
function locating(name: string, at: Parsed['at']): Declared['located'] {
  return ({ pointer, code, message }) => {
    const path = partsOf(pointer)
    const named = path.length > 0 ? `${name} ${path.join('/')}` : name
    return { location: at(path, FAULTS_OF_NAMES.has(code)), code, message: `${named}: ${message}` }
  }
}

function shapeFaults(collection: Collection, body: Members): Fault[] {
  const shape = recordShapes[collection]
  const parsed = shape.safeParse(body, { reportInput: true })
  return parsed.success ? [] : faultsOf(parsed.error, shape)
}

function repeated(records: readonly Declared[]): LocatedFault[] {
  const first = new Map<string, Declared>()
  return records.flatMap((record) => {
    const before = first.get(nameOf(record))
    first.set(nameOf(record), before ?? record)
    if (!before) return []
    const { location } = before.located({ pointer: '/id', code: '', message: '' })
    const message = `appears twice; first at ${location?.file}:${location?.line}`
    return [record.located({ pointer: '/id', code: 'id_twice', message })]
  })
}
