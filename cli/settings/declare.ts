import { faultsOf, isObject, type Members } from '../../settings/faults.ts'
import { idShape } from '../../settings/settings.ts'
import type { Fault } from '../api/client.ts'
import type { Env } from '../context.ts'
import { type File, type Parsed, parse } from './files.ts'
import { inOrder, type Place, type PlacedFault, partsOf } from './place.ts'
import { COLLECTIONS, type Collection, nameOf, type Ref, recordShapes } from './schema.ts'

export type Declared = Ref & {
  body: Members
  /** Adds the place in the file to a fault of this record. */
  placed(fault: Fault): PlacedFault
}

export type Declaration = {
  records: readonly Declared[]
  /** Collections that the files list, even if the list is empty. */
  collections: ReadonlySet<Collection>
}

/**
 * Reads all files as one declaration, or returns all faults that can be found locally. `filledIn`: the values of variables, which
 * must not be printed.
 */
export function declare(
  files: readonly File[],
  env: Env,
): (Declaration | { faults: PlacedFault[] }) & { filledIn: ReadonlySet<string> } {
  const parsed = files.map((file) => parse(file, env))
  const found = parsed.flatMap(({ documents }) => documents).map(recordsIn)
  const records = found.flatMap((document) => document.records)
  const faults = [...parsed, ...found].flatMap((each) => each.faults)
  // a missing variable is already reported: skip the fault of its text
  const known = new Set(faults.map(({ place }) => JSON.stringify(place)))
  faults.push(...records.flatMap(shapeFaults).filter(({ place }) => !known.has(JSON.stringify(place))))
  faults.push(...repeated(records))
  const filledIn = new Set(parsed.flatMap((each) => each.filledIn))
  if (faults.length > 0) return { faults: inOrder(faults), filledIn }
  return { filledIn, records, collections: new Set(found.flatMap((document) => document.collections)) }
}

type Found = { records: Declared[]; collections: Collection[]; faults: PlacedFault[] }

const isCollection = (key: string): key is Collection => COLLECTIONS.some((each) => each === key)

const malformed = (place: Place, message: string): PlacedFault => ({ place, code: 'invalid_form', message })

function recordsIn(document: Parsed): Found {
  const { value, at } = document
  const found: Found = { records: [], collections: [], faults: [] }
  if (value !== null && !isObject(value))
    found.faults.push(malformed(at([]), `the keys of a file must be ${COLLECTIONS.join(', ')}`))
  for (const [key, list] of Object.entries(isObject(value) ? value : {})) {
    if (!isCollection(key))
      found.faults.push(malformed(at([key], true), `unknown key ${key}: ${hintFor(key)}`))
    else if (!Array.isArray(list))
      found.faults.push(malformed(at([key]), 'must be a list of records; use [] for none'))
    else {
      found.collections.push(key)
      const records = list.map((record: unknown, index) =>
        recordAt(document, { collection: key, index, record }),
      )
      found.records.push(...records.filter((each) => 'body' in each))
      found.faults.push(...records.filter((each) => 'place' in each))
    }
  }
  return found
}

function recordAt(
  { at }: Parsed,
  { collection, index, record }: { collection: Collection; index: number; record: unknown },
): Declared | PlacedFault {
  if (!isObject(record)) return malformed(at([collection, index]), 'must be a record: an object with an id')
  const id = idShape.safeParse(record.id)
  if (id.success)
    return declared({ collection, id: id.data }, record, (path, atKey) =>
      at([collection, index, ...path], atKey),
    )
  return {
    place: at([collection, index, 'id']),
    code: 'invalid_id',
    message: `each record needs an id: ${ID_FORM}`,
  }
}

const ID_FORM = '1 to 64 of a-z, 0-9, _ and -'

const hintFor = (key: string): string =>
  key === 'suppressions'
    ? 'suppressed users cannot be set in files; use /api/suppressions'
    : `use ${COLLECTIONS.join(', ')}`

/** Faults of a field's name, not of its value. */
const FAULTS_OF_NAMES: ReadonlySet<string> = new Set([
  'unknown_field',
  'reserved_header',
  'invalid_header_name',
])

function declared(ref: Ref, body: Members, at: Parsed['at']): Declared {
  return {
    ...ref,
    body,
    placed: ({ pointer, code, message }) => {
      const path = partsOf(pointer)
      const named = path.length > 0 ? `${nameOf(ref)} ${path.join('/')}` : nameOf(ref)
      return { place: at(path, FAULTS_OF_NAMES.has(code)), code, message: `${named}: ${message}` }
    },
  }
}

function shapeFaults({ collection, body, placed }: Declared): PlacedFault[] {
  const parsed = recordShapes[collection].safeParse(body, { reportInput: true })
  return parsed.success ? [] : faultsOf(parsed.error).map(placed)
}

function repeated(records: readonly Declared[]): PlacedFault[] {
  const first = new Map<string, Declared>()
  return records.flatMap((record) => {
    const before = first.get(nameOf(record))
    first.set(nameOf(record), before ?? record)
    if (!before) return []
    const { place } = before.placed({ pointer: '/id', code: '', message: '' })
    const message = `appears twice; first at ${place?.file}:${place?.line}`
    return [record.placed({ pointer: '/id', code: 'id_twice', message })]
  })
}
