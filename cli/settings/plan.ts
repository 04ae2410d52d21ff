import type { Members } from '../../settings/faults.ts'
import type { Api, Fault } from '../api/client.ts'
import { type UnreadableSetting, unreadableSettings } from '../api/status.ts'
import { CliError, type Output, type Style } from '../context.ts'
import { plain } from '../table.ts'
import type { Declaration, Declared } from './declare.ts'
import { type Change, difference } from './difference.ts'
import { type DryRuns, dryRun } from './dry-run.ts'
import { inOrder, type LocatedFault } from './location.ts'
import { type Hidden, revealIn } from './reveal-secrets.ts'
import { COLLECTIONS, type Collection, nameOf, type Ref } from './schema.ts'
import { copyOf, readState, rules, type State, type Written } from './state.ts'

/** `version`: the version that was read. */
export type Step = Ref & { changes: readonly Change[] } & (
    | { action: 'create'; body: Members }
    | { action: 'replace'; body: Members; version: number }
    | { action: 'remove'; version: number }
  )

export type Plan = {
  /** In the order of application. */
  steps: readonly Step[]
  /** Records kept although they are in no file, of collections that the files list. */
  others: readonly Ref[]
}

export type Planned = Plan & {
  /** Secrets assumed unchanged, because a read-only token cannot compare them. */
  hidden: readonly Hidden[]
  /** Settings that control cannot read, also outside the files. */
  unreadable: readonly UnreadableSetting[]
}

export type PlanOptions = {
  /** Removes records in no file, of collections that the files list. */
  prune: boolean
  /** ISO 8601 UTC. */
  now: string
  isDone?: (ref: Ref) => boolean
  dryRuns?: DryRuns | undefined
  /** Names of records to write even if equal, because control cannot read their current version. */
  unreadable?: ReadonlySet<string>
}

const MAX_READS = 3

/** Reads the current settings and plans, with the API's checks. @throws CliError */
export async function planNow(
  declaration: Declaration,
  api: Api,
  given: Omit<PlanOptions, 'dryRuns' | 'unreadable'>,
): Promise<Planned | { faults: readonly LocatedFault[] }> {
  const { isDone = () => false } = given
  const records = declaration.records.filter((record) => !isDone(record))
  for (let reads = 1; reads <= MAX_READS; reads++) {
    const [state, unreadable] = await Promise.all([
      readState(api, { withSuppressions: declaration.collections.has('suppressions') }),
      unreadableSettings(api),
    ])
    const options = { ...given, unreadable: new Set(unreadable.map(({ kind, id }) => `${kind}s/${id}`)) }
    const found = await dryRun(needDryRun(declaration, { records, state, options }), state, api)
    if (found === 'stale') continue
    const dryRuns = found === 'read_only' ? undefined : found
    const { revealed, hidden } = revealIn(state, records, dryRuns)
    const planned = plan(declaration, revealed, { ...options, dryRuns })
    return 'faults' in planned ? planned : { ...planned, hidden, unreadable }
  }
  throw new CliError('changed_meanwhile', 'Someone else is changing the settings. Run the command again.')
}

/** Records that may have to be written, depending on their secrets. Unchanged ones must not block the rest. */
function needDryRun(
  declaration: Declaration,
  { records, state, options }: { records: readonly Declared[]; state: State; options: PlanOptions },
): readonly Declared[] {
  const { revealed, hidden } = revealIn(state, records, undefined)
  const guess = plan(declaration, revealed, options)
  if ('faults' in guess) return records
  const names = new Set([...guess.steps, ...hidden].map(nameOf))
  return records.filter((record) => names.has(nameOf(record)))
}

type Draft = { steps: Step[]; faults: LocatedFault[] }

/**
 * The steps from the current settings to the declared ones, or all faults.
 * @param state has secrets in clear text where they equal the declared ones
 */
function plan(
  declaration: Declaration,
  state: State,
  options: PlanOptions,
): Plan | { faults: readonly LocatedFault[] } {
  const { isDone = () => false } = options
  const draft: Draft = { steps: [], faults: [] }
  const future = copyOf(state)
  const declared = declaration.records.filter((record) => !isDone(record))
  for (const collection of COLLECTIONS) {
    const records = declared.filter((record) => record.collection === collection)
    addSteps(records, { future, draft, options })
  }
  const others = othersIn(declaration, state)
  if (options.prune) for (const other of others.toReversed()) addRemoval(other, { future, draft })
  const { faults, steps } = draft
  return faults.length > 0 ? { faults: inOrder(faults) } : { steps, others: options.prune ? [] : others }
}

type StepContext = { future: State; draft: Draft; options: PlanOptions }

/** Retries refused records after the others, because one of those may give up a write key that they take. */
function addSteps(records: readonly Declared[], context: StepContext): void {
  const refused = records.flatMap((record) => addStep(record, context) ?? [])
  const again = refused.map(({ record }) => record)
  if (again.length < records.length) addSteps(again, context)
  else for (const each of refused) addFaults(each, context)
}

function addFaults({ record, faults }: Refused, { future, draft }: StepContext): void {
  draft.faults.push(...faults.map(record.located))
  rules[record.collection].assume(future, record.id)
}

type Refused = { record: Declared; faults: readonly Fault[] }

function addStep(record: Declared, { future, draft, options }: StepContext): Refused | undefined {
  const { collection, id, body } = record
  const written = rules[collection].write(future, { id, body, now: options.now })
  const faults = faultsOf(written, options.dryRuns?.get(nameOf(record))?.faults)
  if ('faults' in written) return { record, faults }
  draft.faults.push(...faults.map(record.located))
  const { before, after } = written
  const changes = difference(before, after)
  if (!before) draft.steps.push({ collection, id, action: 'create', body, changes })
  else if (changes.length > 0 || options.unreadable?.has(nameOf(record)))
    draft.steps.push({ collection, id, action: 'replace', body, version: before.version, changes })
  return undefined
}

/** The API knows more, except which sources this run creates. */
function faultsOf(written: Written, fromApi: readonly Fault[] = []): readonly Fault[] {
  const local = 'faults' in written ? written.faults : []
  return fromApi.length === 0 ? local : [...fromApi, ...local.filter(({ code }) => code === 'unknown_source')]
}

function addRemoval({ collection, id }: Ref, { future, draft }: Omit<StepContext, 'options'>): void {
  const before = rules[collection].of(future).get(id)
  if (!before) return
  const faults = rules[collection].remove(future, id)
  const name = nameOf({ collection, id })
  draft.faults.push(
    ...faults.map(({ code, message }) => ({
      location: undefined,
      code,
      message: `${name} is not in the files: ${message}`,
    })),
  )
  const changes = difference(before, undefined)
  draft.steps.push({ collection, id, action: 'remove', version: before.version, changes })
}

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

export function showPlan(
  { steps, others, hidden, unreadable }: Planned,
  out: Pick<Output, 'line' | 'styled'>,
): void {
  for (const step of steps) {
    const [sign, style] = SIGNS[step.action]
    out.line(out.styled(style, `${sign} ${nameOf(step)}`))
    for (const change of step.changes) out.line(`    ${shownChange(change, step.action)}`)
    if (step.changes.length === 0) out.line('    (written again, because its record cannot be read)')
  }
  if (steps.length === 0) out.line('Nothing differs.')
  if (unreadable.length > 0) {
    out.line(out.styled('yellow', 'Settings that control cannot read:'))
    for (const { message } of unreadable) out.line(out.styled('yellow', `    ${plain(message)}`))
  }
  if (hidden.length > 0) {
    out.line(out.styled('dim', 'Secrets that a read-only token cannot compare:'))
    for (const ref of hidden) out.line(out.styled('dim', `    ${nameOf(ref)} ${ref.fields.join(', ')}`))
  }
  if (others.length > 0) {
    out.line(out.styled('dim', 'Not in the files, and kept (--prune removes them):'))
    for (const ref of others) out.line(out.styled('dim', `    ${nameOf(ref)}`))
  }
}

export const planAsJson = ({ steps, others, hidden, unreadable }: Planned): object => ({
  changes: steps.map(({ collection, id, action, changes }) => ({ collection, id, action, fields: changes })),
  hidden,
  others,
  unreadable,
})

function shownChange({ field: name, before, after }: Change, action: Step['action']): string {
  const field = plain(name)
  if (action === 'create') return `${field}: ${shown(after)}`
  if (action === 'remove') return `${field}: ${shown(before)}`
  return `${field}: ${shown(before)} -> ${shown(after)}`
}

/** Escapes control characters: values and label names may come from anyone. */
const shown = (value: unknown) => (value === undefined ? '(none)' : plain(JSON.stringify(value)))
