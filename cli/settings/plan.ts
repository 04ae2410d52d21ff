import type { Members } from '../../settings/faults.ts'
import type { Fault } from '../api/ask.ts'
import { plain } from '../table.ts'
import type { Output, Style } from '../world.ts'
import type { Declaration, Declared } from './declare.ts'
import type { Trials } from './dry-run.ts'
import { rules, type Written } from './export.ts'
import { type Change, COLLECTIONS, type Collection, difference, nameOf, type Ref } from './form.ts'
import { inOrder, type PlacedFault } from './place.ts'
import type { Planned } from './plan-now.ts'
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

const SIGNS: Readonly<Record<Step['action'], readonly [string, Style]>> = {
  create: ['+', 'green'],
  replace: ['~', 'yellow'],
  remove: ['-', 'red'],
}

/** Says what a plan would change, for people. */
export function showPlan({ steps, others, hidden }: Planned, out: Pick<Output, 'line' | 'styled'>): void {
  for (const step of steps) {
    const [sign, style] = SIGNS[step.action]
    out.line(out.styled(style, `${sign} ${nameOf(step)}`))
    for (const change of step.changes) out.line(`    ${shownChange(change, step.action)}`)
  }
  if (steps.length === 0) out.line('Nothing differs.')
  if (hidden.length > 0) {
    out.line(out.styled('dim', 'Secrets that a token that may only read cannot compare:'))
    for (const ref of hidden) out.line(out.styled('dim', `    ${nameOf(ref)} ${ref.fields.join(', ')}`))
  }
  if (others.length > 0) {
    out.line(out.styled('dim', 'In no file, and left alone (--prune removes them):'))
    for (const ref of others) out.line(out.styled('dim', `    ${nameOf(ref)}`))
  }
}

/** What a plan would change, for programs. */
export const planAsJson = ({ steps, others, hidden }: Planned): object => ({
  changes: steps.map(({ collection, id, action, changes }) => ({ collection, id, action, fields: changes })),
  hidden,
  others,
})

function shownChange({ field: name, before, after }: Change, action: Step['action']): string {
  const field = plain(name)
  if (action === 'create') return `${field}: ${shown(after)}`
  if (action === 'remove') return `${field}: ${shown(before)}`
  return `${field}: ${shown(before)} -> ${shown(after)}`
}

/** As JSON. What an operator did not write may hold what a terminal would obey, also in the name of a label. */
const shown = (value: unknown) => (value === undefined ? '(none)' : plain(JSON.stringify(value)))
