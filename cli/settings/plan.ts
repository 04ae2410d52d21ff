import type { Members } from '../../control/settings/members.ts'
import type { Fault } from '../api/refused.ts'
import type { Declaration, Declared } from './declare.ts'
import { type Change, difference } from './difference.ts'
import type { Trials } from './dry-run.ts'
import { COLLECTIONS, type Collection, nameOf, type Ref } from './form.ts'
import { inOrder, type PlacedFault } from './place.ts'
import { rules, type Written } from './rules.ts'
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
}

export type PlanOptions = {
  /** Removes what the files do not have; only of collections that they have a list of. */
  prune: boolean
  /** ISO 8601 UTC. */
  now: string
  /** Written already: not to be looked at again. */
  isDone?: (ref: Ref) => boolean
  /** What the API has said beforehand. */
  trials?: Trials | undefined
}

type Drawn = { steps: Step[]; faults: PlacedFault[] }

/**
 * What makes the settings that there are those that are declared; or all that stands against it, before anything is changed.
 * @param state with secrets in clear where they are those of the declaration.
 */
export function plan(
  declaration: Declaration,
  state: State,
  options: PlanOptions,
): Plan | { faults: readonly PlacedFault[] } {
  const { isDone = () => false } = options
  const drawn: Drawn = { steps: [], faults: [] }
  const future = copyOf(state)
  const declared = declaration.records.filter((record) => !isDone(record))
  for (const collection of COLLECTIONS)
    for (const record of declared)
      if (record.collection === collection) draw(record, { future, drawn, options })
  const others = othersIn(declaration, state)
  if (options.prune) for (const other of others.toReversed()) drawRemoval(other, { future, drawn })
  const { faults, steps } = drawn
  return faults.length > 0 ? { faults: inOrder(faults) } : { steps, others: options.prune ? [] : others }
}

type Drawing = { future: State; drawn: Drawn; options: PlanOptions }

function draw(record: Declared, { future, drawn, options }: Drawing): void {
  const { collection, id, body } = record
  const rule = rules[collection]
  const written = rule.write(future, { id, body, now: options.now })
  const faults = faultsOf(written, options.trials?.get(nameOf(record))?.faults)
  drawn.faults.push(...faults.map(record.placed))
  if ('faults' in written) {
    rule.assume(future, id)
    return
  }
  const { before, after } = written
  const changes = difference(before, after)
  if (!before) drawn.steps.push({ collection, id, action: 'create', body, changes })
  else if (changes.length > 0)
    drawn.steps.push({ collection, id, action: 'replace', body, version: before.version, changes })
}

/** The API knows more, but not what is made in the same run. */
function faultsOf(written: Written, told: readonly Fault[] = []): readonly Fault[] {
  const own = 'faults' in written ? written.faults : []
  return told.length === 0 ? own : [...told, ...own.filter(({ code }) => code === 'unknown_source')]
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
