import type { Ask } from '../api/ask.ts'
import { CliFault } from '../fault.ts'
import type { Declaration, Declared } from './declare.ts'
import { type Trials, type Tried, tryOut } from './dry-run.ts'
import { nameOf, type Ref } from './form.ts'
import { type PlacedFault, partsOf } from './place.ts'
import { type Plan, type PlanOptions, plan } from './plan.ts'
import { reveal, unseen } from './secrets.ts'
import { copyOf, readState, type State } from './state.ts'

export type Planned = Plan & {
  /** Secrets of the files, as fields, that are taken for those stored because the token may not have them compared. */
  hidden: readonly (Ref & { fields: string[] })[]
}

const TRIES = 3

/** Reads the settings that there are, has the API judge what it alone can, and plans. @throws CliFault */
export async function planNow(
  declaration: Declaration,
  ask: Ask,
  options: Omit<PlanOptions, 'trials'>,
): Promise<Planned | { faults: readonly PlacedFault[] }> {
  const { isDone = () => false } = options
  const records = declaration.records.filter((record) => !isDone(record))
  for (let tries = 1; tries <= TRIES; tries++) {
    const state = await readState(ask)
    const found = await tryOut(inQuestion(declaration, { records, state, options }), state, ask)
    if (found === 'stale') continue
    const trials = found === 'read_only' ? undefined : found
    const { revealed, hidden } = revealIn(state, records, trials)
    const planned = plan(declaration, revealed, { ...options, trials })
    return 'faults' in planned ? planned : { ...planned, hidden }
  }
  throw new CliFault('changed_meanwhile', 'Settings are being changed by somebody else: run it again.')
}

/**
 * The records of which the API is to be asked: those that would be written, or may be for their secrets. One that stays as it
 * is stands in the way of nothing, whatever the API would say of it today.
 */
function inQuestion(
  declaration: Declaration,
  { records, state, options }: { records: readonly Declared[]; state: State; options: PlanOptions },
): readonly Declared[] {
  const { revealed, hidden } = revealIn(state, records, undefined)
  const guess = plan(declaration, revealed, options)
  if ('faults' in guess) return records
  const names = new Set([...guess.steps, ...hidden].map(nameOf))
  return records.filter((record) => names.has(nameOf(record)))
}

/** The state with the secrets that are known. */
function revealIn(
  state: State,
  records: readonly Declared[],
  trials: Trials | undefined,
): { revealed: State; hidden: Planned['hidden'] } {
  const revealed = copyOf(state)
  const hidden: (Ref & { fields: string[] })[] = []
  for (const declared of records) {
    const { collection, id } = declared
    const tried = trials?.get(nameOf(declared))
    const same =
      collection === 'sources'
        ? revealOne(revealed.sources, declared, tried)
        : collection === 'destinations'
          ? revealOne(revealed.destinations, declared, tried)
          : []
    if (!tried && same.length > 0)
      hidden.push({ collection, id, fields: same.map((at) => partsOf(at).join('/')) })
  }
  return { revealed, hidden }
}

function revealOne<T extends { id: string }>(
  all: Map<string, T>,
  { id, body }: Declared,
  tried: Tried | undefined,
): string[] {
  const before = all.get(id)
  if (!before) return []
  const isSame = tried ? (at: string) => !tried.changed.has(at) : unseen(before, body)
  const { record, same } = reveal(before, body, isSame)
  all.set(id, record)
  return same
}
