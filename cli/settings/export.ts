import { Document } from 'yaml'
import { isObject, type Members } from '../../settings/faults.ts'
import { MASK } from '../../settings/mask.ts'
import { audiences, traits } from '../../settings/resources/audiences-and-traits.ts'
import { create, type Decided, remove, replace } from '../../settings/resources/decide.ts'
import { destinations } from '../../settings/resources/destinations.ts'
import type { Replaceable, Stamp } from '../../settings/resources/resource.ts'
import { sources } from '../../settings/resources/sources.ts'
import type { Fault } from '../api/ask.ts'
import { COLLECTIONS, type Collection } from './form.ts'
import { factsOf, type State } from './state.ts'
import { literally } from './variables.ts'

/** What is the server's to say. */
const STAMPS: ReadonlySet<string> = new Set(['version', 'updatedAt', 'key', 'createdAt', 'lastSyncAt'])

export type Exported = Record<Collection, object[]>

/** The settings in the form of files: applied where they come from, they change nothing. */
export function exported(state: State, { writeKeys }: { writeKeys: boolean }): Exported {
  const of = (collection: Collection) =>
    [...rules[collection].of(state).values()].map((record) => withoutStamps(record, writeKeys))
  return {
    sources: of('sources'),
    destinations: of('destinations'),
    audiences: of('audiences'),
    traits: of('traits'),
  }
}

function withoutStamps({ id, ...record }: Stamp, writeKeys: boolean): object {
  const fields = Object.entries(record).filter(([name]) => !STAMPS.has(name))
  const shown = fields.map(([name, value]) => [name, name === 'writeKey' && !writeKeys ? MASK : value])
  return { id, ...Object.fromEntries(shown) }
}

/** Where the schema of an exported file is, for editors; it is written beside it. */
export const SCHEMA_FILE = 'sluice.schema.json'

const HEAD = ` yaml-language-server: $schema=./${SCHEMA_FILE}
 Made by sluice export. "${MASK}" stands for a secret and keeps the one that is stored. To have it in another system, put
 "\${NAME}" in its place: apply takes it from the variable NAME.`

/** As YAML with the given collections alone. */
export function asYaml(settings: Exported, collections: readonly Collection[] = COLLECTIONS): string {
  const document = new Document(Object.fromEntries(collections.map((each) => [each, quoted(settings[each])])))
  document.commentBefore = HEAD
  return document.toString({ lineWidth: 0 })
}

/** With what would be taken for a variable written so that it is not. */
export function quoted(value: unknown): unknown {
  if (typeof value === 'string') return literally(value)
  if (Array.isArray(value)) return value.map(quoted)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, quoted(inner)]))
}

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
  resource: Replaceable<G, T>,
  of: (state: State) => Map<string, T>,
): Rules {
  return {
    of,
    write(state, { id, body, now }) {
      const before = of(state).get(id)
      const wanted = { body, now, made, unreachable }
      const facts = factsOf(state)
      const decided = before
        ? replace(resource, { ...wanted, id, version: before.version }, facts)
        : create(resource, wanted, facts)
      if ('refusal' in decided || !decided.record) return { faults: faultsIn(decided) }
      of(state).set(id, decided.record)
      return { before, after: decided.record }
    },
    remove(state, id) {
      const faults = faultsIn(remove(resource, { id, version: undefined }, factsOf(state)))
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
