import { Document } from 'yaml'
import { MASK } from '../../control/mask.ts'
import { isObject } from '../../control/settings/members.ts'
import type { Stamp } from '../../control/settings/noun.ts'
import { COLLECTIONS, type Collection } from './form.ts'
import { rules } from './rules.ts'
import type { State } from './state.ts'
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
