import { audiences, traits } from '../../control/computations/nouns.ts'
import { create, type Decided, remove, replace } from '../../control/settings/decide.ts'
import { destinations } from '../../control/settings/destinations.ts'
import type { Members } from '../../control/settings/members.ts'
import type { Replaceable, Stamp } from '../../control/settings/noun.ts'
import { sources } from '../../control/settings/sources.ts'
import type { Fault } from '../api/refused.ts'
import type { Collection } from './form.ts'
import { factsOf, type State } from './state.ts'

export type Written = { before: Stamp | undefined; after: Stamp } | { faults: readonly Fault[] }

/** What the API will decide, decided beforehand by its own rules. Each changes the state as the API would. */
export type Rules = {
  of(state: State): ReadonlyMap<string, Stamp>
  /** Creates a record, or replaces the one that is there. `now`: ISO 8601 UTC. */
  write(state: State, wanted: { id: string; body: Members; now: string }): Written
  remove(state: State, id: string): readonly Fault[]
  /** As if a new record that is faulty were there: what names it is not wrong for that as well. */
  assume(state: State, id: string): void
}

export const rules: Readonly<Record<Collection, Rules>> = {
  sources: { ...rulesOf(sources, (state) => state.sources), assume: assumeSource },
  destinations: rulesOf(destinations, (state) => state.destinations),
  audiences: rulesOf(audiences, (state) => state.audiences),
  traits: rulesOf(traits, (state) => state.traits),
}

/** Made by the server, and not known before. */
const made = { idSuffix: '', writeKey: '(made)' }
/** Only the server knows where it may not go: it says so when the record is written. */
const unreachable = new Map<string, string>()

function rulesOf<G extends object, T extends Stamp>(
  noun: Replaceable<G, T>,
  of: (state: State) => Map<string, T>,
): Rules {
  return {
    of,
    write(state, { id, body, now }) {
      const before = of(state).get(id)
      const wanted = { body, now, made, unreachable }
      const facts = factsOf(state)
      const decided = before
        ? replace(noun, { ...wanted, id, version: before.version }, facts)
        : create(noun, wanted, facts)
      if ('refusal' in decided || !decided.record) return { faults: faultsIn(decided) }
      of(state).set(id, decided.record)
      return { before, after: decided.record }
    },
    remove(state, id) {
      const faults = faultsIn(remove(noun, { id, version: undefined }, factsOf(state)))
      if (faults.length === 0) of(state).delete(id)
      return faults
    },
    // nothing else is named by others
    assume: () => undefined,
  }
}

function assumeSource({ sources: all }: State, id: string): void {
  const nothing = { name: '', writeKey: '', enabled: true, version: 1, updatedAt: '' }
  if (!all.has(id)) all.set(id, { id, ...nothing })
}

const faultsIn = (decided: Decided<unknown>): readonly Fault[] =>
  'refusal' in decided && 'faults' in decided.refusal ? decided.refusal.faults : []
