import type { Members } from '../../control/members.ts'
import type { Declaration, Declared } from './declare.ts'
import { type Change, difference } from './difference.ts'
import { COLLECTIONS, type Collection, nameOf, type Ref } from './form.ts'
import { inOrder, type PlacedFault, partsOf } from './place.ts'
import { rules } from './rules.ts'
import { sentFor } from './secrets.ts'
import { copyOf, type State } from './state.ts'

/** One request to the API; `version` is the one that was read. */
export type Step = Ref & { changes: readonly Change[] } & (
    | { action: 'create'; body: Members }
    | { action: 'replace'; body: Members; version: number }
    | { action: 'remove'; version: number }
  )

export type Plan = {
  /** In the order in which they can be made. */
  steps: readonly Step[]
  /** Records that are in no file, of collections that the files have; they stay. */
  others: readonly Ref[]
  /** Secrets of the files that are not written, as fields. */
  kept: readonly (Ref & { fields: string[] })[]
}

export type PlanOptions = {
  /** Removes what the files do not have; only of collections that they have a list of. */
  prune: boolean
  /** Writes secrets also where some are stored. */
  secrets: boolean
  /** ISO 8601 UTC. */
  now: string
  /** Written already: not to be looked at again. */
  isDone?: (ref: Ref) => boolean
}

type Drawn = { steps: Step[]; kept: (Ref & { fields: string[] })[]; faults: PlacedFault[] }

/** What makes the settings that there are those that are declared; or all that stands against it, before anything is changed. */
export function plan(
  declaration: Declaration,
  state: State,
  options: PlanOptions,
): Plan | { faults: readonly PlacedFault[] } {
  const { isDone = () => false } = options
  const drawn: Drawn = { steps: [], kept: [], faults: [] }
  const future = copyOf(state)
  const declared = declaration.records.filter((record) => !isDone(record))
  for (const collection of COLLECTIONS)
    for (const record of declared)
      if (record.collection === collection) draw(record, { future, drawn, options })
  const others = othersIn(declaration, state)
  if (options.prune) for (const other of others.toReversed()) drawRemoval(other, { future, drawn })
  const { faults, steps, kept } = drawn
  return faults.length > 0
    ? { faults: inOrder(faults) }
    : { steps, kept, others: options.prune ? [] : others }
}

type Drawing = { future: State; drawn: Drawn; options: PlanOptions }

function draw(record: Declared, { future, drawn, options }: Drawing): void {
  const { collection, id } = record
  const rule = rules[collection]
  const { body, kept } = sentFor(record.body, rule.of(future).get(id), options.secrets)
  const written = rule.write(future, { id, body, now: options.now })
  if ('faults' in written) {
    drawn.faults.push(...written.faults.map(record.placed))
    rule.assume(future, id)
    return
  }
  if (kept.length > 0)
    drawn.kept.push({ collection, id, fields: kept.map((pointer) => partsOf(pointer).join('/')) })
  const { before, after } = written
  const changes = difference(before, after)
  if (!before) drawn.steps.push({ collection, id, action: 'create', body, changes })
  else if (changes.length > 0)
    drawn.steps.push({ collection, id, action: 'replace', body, version: before.version, changes })
}

function drawRemoval({ collection, id }: Ref, { future, drawn }: Omit<Drawing, 'options'>): void {
  const before = rules[collection].of(future).get(id)
  if (!before) return
  const faults = rules[collection].remove(future, id)
  const name = nameOf({ collection, id })
  drawn.faults.push(
    ...faults.map(({ code, message }) => ({
      place: undefined,
      code,
      message: `${name} is not in the files: ${message}`,
    })),
  )
  const changes = difference(before, undefined)
  drawn.steps.push({ collection, id, action: 'remove', version: before.version, changes })
}

/** In the order of writing. */
function othersIn({ collections, records }: Declaration, state: State): Ref[] {
  const names = new Set(records.map(nameOf))
  const all = (collection: Collection) =>
    [...rules[collection].of(state).keys()].map((id) => ({ collection, id }))
  return COLLECTIONS.filter((collection) => collections.has(collection))
    .flatMap(all)
    .filter((ref) => !names.has(nameOf(ref)))
}
