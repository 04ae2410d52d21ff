import { Document } from 'yaml'
import { isObject } from '../../process/json-objects.ts'
import { MASK } from '../../settings/mask.ts'
import type { Stamp } from '../../settings/resources/resource.ts'
import type { Suppression } from '../../settings/settings.ts'
import { COLLECTIONS, type Collection } from './schema.ts'
import { rules, type State } from './state.ts'
import { literally } from './variables.ts'

const STAMPS: ReadonlySet<string> = new Set(['version', 'updatedAt', 'key', 'createdAt', 'lastSyncAt'])

const WRITE_KEYS: ReadonlySet<string> = new Set(['writeKey', 'previousWriteKey'])

export type Exported = Record<Collection, object[]>

/** Applying these files to the same system changes nothing. */
export function exported(state: State, { writeKeys }: { writeKeys: boolean }): Exported {
  const of = (collection: Collection) =>
    [...rules[collection].of(state).values()].map((record) => withoutStamps(record, writeKeys))
  return {
    sources: of('sources'),
    destinations: of('destinations'),
    audiences: of('audiences'),
    traits: of('traits'),
    suppressions: [...state.suppressions.values()]
      .map(({ sourceId, userId }) => ({ sourceId, userId }))
      .sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1)),
  }
}

const placeOf = ({ sourceId, userId }: Pick<Suppression, 'sourceId' | 'userId'>) => `${sourceId} ${userId}`

function withoutStamps({ id, ...record }: Stamp, writeKeys: boolean): object {
  const fields = Object.entries(record).filter(([name]) => !STAMPS.has(name))
  const shown = fields.map(([name, value]) => [name, WRITE_KEYS.has(name) && !writeKeys ? MASK : value])
  return { id, ...Object.fromEntries(shown) }
}

/** For editors; written beside each exported file. */
export const SCHEMA_FILE = 'sluice.schema.json'

const HEAD = ` yaml-language-server: $schema=./${SCHEMA_FILE}
 Written by sluice export. "${MASK}" stands for a secret and keeps the stored one. To apply this file to another system,
 replace it with "\${NAME}": apply takes the secret from the environment variable NAME.`

export function asYaml(settings: Exported, collections: readonly Collection[] = COLLECTIONS): string {
  const document = new Document(Object.fromEntries(collections.map((each) => [each, quoted(settings[each])])))
  document.commentBefore = HEAD
  return document.toString({ lineWidth: 0 })
}

/** Escapes texts that look like variables. */
export function quoted(value: unknown): unknown {
  if (typeof value === 'string') return literally(value)
  if (Array.isArray(value)) return value.map(quoted)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, quoted(inner)]))
}
