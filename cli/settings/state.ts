import { z } from 'zod'
import type { Members } from '../../settings/faults.ts'
import { audiences, traits } from '../../settings/resources/audiences-and-traits.ts'
import { create, type Decided, remove, replace } from '../../settings/resources/decide.ts'
import { destinations } from '../../settings/resources/destinations.ts'
import { type Facts, isReplaceable, type Resource, type Stamp } from '../../settings/resources/resource.ts'
import { sources } from '../../settings/resources/sources.ts'
import { suppressions } from '../../settings/resources/suppressions.ts'
import {
  type Computation,
  type Destination,
  EVERY_SOURCE,
  type Source,
  type Suppression,
  storedComputation,
  storedDestination,
  storedSource,
  storedSuppression,
} from '../../settings/settings.ts'
import { type Api, type Fault, pages } from '../api/client.ts'
import type { Collection } from './schema.ts'

/** Secrets are masked. */
export type State = {
  sources: Map<string, Source>
  destinations: Map<string, Destination>
  audiences: Map<string, Computation>
  traits: Map<string, Computation>
  suppressions: Map<string, Suppression>
}

export type ReadOptions = {
  /** Default: true. There may be hundreds of thousands of suppressions. */
  withSuppressions?: boolean
}

/** @throws CliError */
export async function readState(api: Api, { withSuppressions = true }: ReadOptions = {}): Promise<State> {
  const [sources, destinations, audiences, traits, suppressions] = await Promise.all([
    all(api, 'sources', storedSource),
    all(api, 'destinations', storedDestination),
    all(api, 'audiences', storedComputation),
    all(api, 'traits', storedComputation),
    withSuppressions ? all(api, 'suppressions', storedSuppression) : new Map<string, Suppression>(),
  ])
  // a removed source's suppression waits for a new source with that id; files can neither contain nor remove it
  for (const [id, { sourceId }] of suppressions)
    if (sourceId !== EVERY_SOURCE && !sources.has(sourceId)) suppressions.delete(id)
  return { sources, destinations, audiences, traits, suppressions }
}

async function all<T extends { id: string }>(
  api: Api,
  collection: Collection,
  item: z.ZodType<T>,
): Promise<Map<string, T>> {
  const options = { item, first: z.object({}), query: {}, limit: Number.POSITIVE_INFINITY, perPage: 1_000 }
  const { items } = await pages(api, collection, options)
  return new Map(items.map((record) => [record.id, record]))
}

export const copyOf = (state: State): State => ({
  sources: new Map(state.sources),
  destinations: new Map(state.destinations),
  audiences: new Map(state.audiences),
  traits: new Map(state.traits),
  suppressions: new Map(state.suppressions),
})

function factsOf(state: State): Facts {
  const sourceByWriteKey = (key: string) =>
    [...state.sources.values()].find(
      ({ writeKey, previousWriteKey }) => writeKey === key || previousWriteKey === key,
    )
  return { ...state, unreadable: new Map(), lastVersion: () => undefined, sourceByWriteKey }
}

export type Written = { before: Stamp | undefined; after: Stamp } | { faults: readonly Fault[] }

/** The API's own rules, applied to a local copy of the state. */
export type Rules = {
  of(state: State): ReadonlyMap<string, Stamp>
  /** `now`: ISO 8601 UTC. */
  write(state: State, record: { id: string; body: Members; now: string }): Written
  remove(state: State, id: string): readonly Fault[]
  /** Pretends that a faulty new record exists, so that references to it are not reported too. */
  assume(state: State, id: string): void
}

export const rules: Readonly<Record<Collection, Rules>> = {
  sources: { ...rulesOf(sources, (state) => state.sources), assume: assumeSource },
  destinations: rulesOf(destinations, (state) => state.destinations),
  audiences: rulesOf(audiences, (state) => state.audiences),
  traits: rulesOf(traits, (state) => state.traits),
  suppressions: rulesOf(suppressions, (state) => state.suppressions),
}

const made = { idSuffix: '', writeKey: '(made)', hashKey: '(made)' }
/** Only the server knows the forbidden addresses, and checks them. */
const unreachable = new Map<string, string>()

function rulesOf<G extends object, T extends Stamp>(
  resource: Resource<G, T>,
  of: (state: State) => Map<string, T>,
): Rules {
  return {
    of,
    write(state, { id, body, now }) {
      const before = of(state).get(id)
      // its id derives from its whole content
      if (before && !isReplaceable(resource)) return { before, after: before }
      const input = { body, now, made, unreachable }
      const facts = factsOf(state)
      const decided =
        before && isReplaceable(resource)
          ? replace(resource, { ...input, id, version: before.version }, facts)
          : create(resource, input, facts)
      if ('refusal' in decided || !decided.record) return { faults: faultsIn(decided) }
      of(state).set(id, decided.record)
      return { before, after: decided.record }
    },
    remove(state, id) {
      const faults = faultsIn(remove(resource, { id, version: undefined }, factsOf(state)))
      if (faults.length === 0) of(state).delete(id)
      return faults
    },
    // records refer only to sources
    assume: () => undefined,
  }
}

function assumeSource({ sources: all }: State, id: string): void {
  const nothing = { name: '', writeKey: '', enabled: true, version: 1, updatedAt: '' }
  if (!all.has(id)) all.set(id, { id, ...nothing })
}

const faultsIn = (decided: Decided<unknown>): readonly Fault[] =>
  'refusal' in decided && 'faults' in decided.refusal ? decided.refusal.faults : []
