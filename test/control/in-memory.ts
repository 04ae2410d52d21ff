import type { WriteParts } from '../../control/settings/write.ts'
import type { Settings } from '../../settings/follow.ts'
import type { Decided } from '../../settings/resources/decide.ts'
import type { Facts } from '../../settings/resources/resource.ts'
import { openRecord, verify } from '../../settings/seal.ts'
import {
  type Computation,
  type Destination,
  type Source,
  type Suppression,
  storedComputation,
  storedDestination,
  storedSource,
  storedSuppression,
} from '../../settings/settings.ts'
import type { Unreadable } from '../../settings/state.ts'
import { keysOf } from '../helpers/config-keys.ts'

export const keys = keysOf(Buffer.alloc(32, 7))
export const made = { idSuffix: 'a1b2c3d4e5', writeKey: 'made-write-key', hashKey: 'made-hash-key' }
export const unreachable = new Map<string, string>()
export const now = '2026-01-02T03:04:05.678Z'

export const shop: Source = {
  id: 'shop',
  name: 'Shop',
  writeKey: 'shop-write-key',
  enabled: true,
  version: 3,
  updatedAt: now,
}
export const crm: Destination = {
  id: 'crm',
  type: 'Webhooks',
  name: 'CRM',
  enabled: true,
  sourceIds: ['shop'],
  webhooks: [{ url: 'https://crm.example/hook', headers: { 'X-Team': 'header-secret' } }],
  sharedSecret: 'shared-secret',
  version: 2,
  updatedAt: now,
}

type Records = {
  sources?: Source[]
  destinations?: Destination[]
  suppressions?: Suppression[]
  audiences?: Computation[]
  traits?: Computation[]
  unreadable?: Unreadable[]
  /** Of removed settings, by key. */
  lastVersions?: ReadonlyMap<string, number>
}

export function factsOf(records: Records): Facts & {
  suppressedUsers: Settings['suppressedUsers']
  sources: Map<string, Source>
  destinations: Map<string, Destination>
  suppressions: Map<string, Suppression>
  audiences: Map<string, Computation>
  traits: Map<string, Computation>
  unreadable: Map<string, Unreadable>
} {
  const sources = byId(records.sources)
  const destinations = byId(records.destinations)
  const suppressions = byId(records.suppressions)
  const audiences = byId(records.audiences)
  const traits = byId(records.traits)
  const sourceByWriteKey = (key: string) =>
    [...sources.values()].find(
      ({ writeKey, previousWriteKey }) => writeKey === key || previousWriteKey === key,
    )
  const unreadable = new Map(records.unreadable?.map((each) => [`${each.kind}/${each.id}`, each]))
  const suppressedUsers = () => undefined
  const lastVersion = (key: string) => records.lastVersions?.get(key)
  const all = { sources, destinations, suppressions, audiences, traits, unreadable }
  return { ...all, lastVersion, sourceByWriteKey, suppressedUsers }
}

const byId = <T extends { id: string }>(records: readonly T[] = []) =>
  new Map(records.map((record) => [record.id, record]))

/** `topic` has what would be in Kafka. */
export function inMemory(records: Records = {}) {
  const facts = factsOf(records)
  const topic = new Map<string, string | null>()
  const writer: WriteParts['writer'] = {
    async write(decide) {
      const decision = decide()
      if ('refusal' in decision) return { ok: false, refusal: decision.refusal }
      for (const { key, value } of decision.records) apply(String(key), value === null ? null : String(value))
      return { ok: true }
    },
  }

  function apply(key: string, value: string | null): void {
    const [kind, id = ''] = key.split('/')
    topic.set(key, value)
    facts.unreadable.delete(key)
    if (kind === 'source') put(facts.sources, id, value && storedSource.parse(opened(key, value)))
    if (kind === 'destination')
      put(facts.destinations, id, value && storedDestination.parse(opened(key, value)))
    if (kind === 'suppression')
      put(facts.suppressions, id, value && storedSuppression.parse(opened(key, value)))
    if (kind === 'audience' || kind === 'trait')
      put(facts[`${kind}s`], id, value && storedComputation.parse(opened(key, value)))
  }

  return { settings: { ...facts, isFresh: () => true, table: { caughtUp: async () => {} } }, writer, topic }
}

function put<T>(records: Map<string, T>, id: string, record: T | null | ''): void {
  if (record) records.set(id, record)
  else records.delete(id)
}

export function opened(key: string, value: string): object {
  const verified = verify(key, value, keys)
  if (typeof verified === 'string') return { not: verified }
  return openRecord(key, { record: JSON.parse(verified.json), isSigned: true }, keys) ?? { not: 'opened' }
}

/** As `pointer code`. */
export function faults(decided: Decided<unknown>): string[] {
  if (!('refusal' in decided) || !('faults' in decided.refusal))
    throw new Error(`not faulty: ${JSON.stringify(decided)}`)
  return decided.refusal.faults.map(({ pointer, code }) => `${pointer} ${code}`)
}

/** The smallest valid destination. */
export const given = { name: 'CRM', webhooks: [{ url: 'https://crm.example/hook' }] }
