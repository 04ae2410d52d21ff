import { isDeepStrictEqual } from 'node:util'
import type { Deletion } from '../../schemas/task.ts'
import type { Fault } from '../../settings/faults.ts'
import type { Setting } from '../../settings/lookup.ts'
import { firstVersion } from '../../settings/resources/decide.ts'
import type { Facts } from '../../settings/resources/resource.ts'
import type { Computation, Kind, Source } from '../../settings/settings.ts'
import { suppressionsOf } from '../tasks/deletions/perform.ts'
import type { BackupFacts } from './backup-file.ts'

type SettingFacts = Omit<Facts, 'sourceByWriteKey'>

/** Secrets in clear. */
export type Contents = { settings: readonly Setting[]; deletions: readonly Deletion[] }

export type Step = { action: 'create' | 'replace'; setting: Setting }

/** `now`: ISO 8601 UTC. */
export type Against = { facts: BackupFacts; now: string }

/**
 * `steps`: in the order of writing. `restored`: the backup's settings, by key. `kept`: other existing ones. `clashes`:
 * why nothing may be written.
 */
export type RestorePlan = {
  steps: readonly Step[]
  restored: ReadonlySet<string>
  unchanged: readonly string[]
  kept: readonly string[]
  deletions: readonly Deletion[]
  clashes: readonly Fault[]
}

/**
 * Processes read settings in this order. Ingest accepts a source's first call only after every suppression and
 * destination is written.
 */
export const ORDER: readonly Kind[] = ['suppression', 'audience', 'trait', 'destination', 'source']

export function planRestore({ settings, deletions }: Contents, { facts, now }: Against): RestorePlan {
  const all = withPendingSuppressions(settings, deletions)
  const inOrder = ORDER.flatMap((kind) => all.filter((setting) => setting.kind === kind))
  const restored = new Set(inOrder.map(keyOf))
  const decided = inOrder.map((setting) => ({ setting, step: stepFor(setting, { facts, now }) }))
  return {
    steps: decided.flatMap(({ step }) => step ?? []),
    restored,
    unchanged: decided.filter(({ step }) => !step).map(({ setting }) => keyOf(setting)),
    kept: existing(facts).filter((key) => !restored.has(key)),
    deletions: deletions.filter(({ id }) => !facts.deletions.has(id)),
    clashes: clashesOf(inOrder, facts, restored),
  }
}

export const keyOf = ({ kind, value }: Setting) => `${kind}/${value.id}`

/** Users of unfinished deletions may not be suppressed yet. */
function withPendingSuppressions(
  settings: readonly Setting[],
  deletions: readonly Deletion[],
): readonly Setting[] {
  const known = new Set(settings.map(keyOf))
  const pending = deletions
    .filter(({ state }) => state === 'accepted')
    .flatMap(suppressionsOf)
    .map((value): Setting => ({ kind: 'suppression', value }))
  const added = new Map(pending.map((setting) => [keyOf(setting), setting]))
  return [...settings, ...[...added.values()].filter((setting) => !known.has(keyOf(setting)))]
}

/** @returns undefined if nothing would change. */
export function stepFor(setting: Setting, { facts, now }: Against): Step | undefined {
  const old = currentOf(setting, facts)
  const isUnreadable = facts.unreadable.has(keyOf(setting))
  if (old && !isUnreadable && isDeepStrictEqual(contentOf(old), contentOf(setting))) return undefined
  const action = old || isUnreadable ? 'replace' : 'create'
  return { action, setting: old ? replacing(setting, old, now) : created(setting, facts) }
}

function currentOf({ kind, value }: Setting, facts: SettingFacts): Setting | undefined {
  const record = storeOf(kind, facts).get(value.id)
  // the compiler cannot see that the map holds values of this kind
  return record && ({ kind, value: record } as Setting)
}

function storeOf(kind: Kind, facts: SettingFacts): ReadonlyMap<string, Setting['value']> {
  const { sources, destinations, suppressions, audiences, traits } = facts
  return {
    source: sources,
    destination: destinations,
    suppression: suppressions,
    audience: audiences,
    trait: traits,
  }[kind]
}

/** Leaves out when the setting was written or synced, and when an audience or trait was created. */
function contentOf({ value }: Setting): object {
  const { version: _, updatedAt: __, ...content } = value
  return 'lastSyncAt' in content ? { ...content, createdAt: null, lastSyncAt: null } : content
}

/** Receivers of a new cluster know none of its users. */
function created(setting: Setting, facts: SettingFacts): Setting {
  const version = Math.max(setting.value.version, firstVersion(keyOf(setting), facts))
  const added = { version, ...(isComputation(setting) && { lastSyncAt: null }) }
  // the compiler cannot see that kind and value belong together
  return { kind: setting.kind, value: { ...setting.value, ...added } } as Setting
}

/** Raises the version: a client that has read the old record must not overwrite the restored one. */
function replacing(setting: Setting, { value: old }: Setting, now: string): Setting {
  const stamp = { version: Math.max(setting.value.version, old.version + 1), updatedAt: now }
  // the compiler cannot see that kind and value belong together
  return { kind: setting.kind, value: { ...setting.value, ...stamp, ...syncedOf(setting, old) } } as Setting
}

/** What receivers were last told is stored with `createdAt`. They know an audience or trait by its key and source. */
function syncedOf(setting: Setting, old: Setting['value']): Partial<Computation> {
  if (!isComputation(setting) || !('lastSyncAt' in old)) return {}
  const { key, sourceId, createdAt, lastSyncAt } = old
  const isSame = key === setting.value.key && sourceId === setting.value.sourceId
  return isSame ? { createdAt, lastSyncAt } : { lastSyncAt: null }
}

const isComputation = (setting: Setting): setting is { kind: 'audience' | 'trait'; value: Computation } =>
  setting.kind === 'audience' || setting.kind === 'trait'

function existing(facts: SettingFacts): string[] {
  const readable = ORDER.flatMap((kind) => [...storeOf(kind, facts).keys()].map((id) => `${kind}/${id}`))
  return [...new Set([...readable, ...facts.unreadable.keys()])]
}

type Named = { name: string; keys: readonly string[] }

/**
 * No source may share a write key, and no audience or trait a key, with a setting outside the backup. Settings within
 * the backup may: they did when it was made. No setting may move to another workspace, or get its events.
 */
function clashesOf(written: readonly Setting[], facts: SettingFacts, restored: ReadonlySet<string>): Fault[] {
  const stays = ({ name }: Named) => !restored.has(name)
  const sources = [...facts.sources.values()].map(writeKeysOf).filter(stays)
  const computations = [
    ...[...facts.audiences.values()].map((value) => traitKeyOf('audience', value)),
    ...[...facts.traits.values()].map((value) => traitKeyOf('trait', value)),
  ].filter(stays)
  const writtenSources = written.flatMap(({ kind, value }) => (kind === 'source' ? [writeKeysOf(value)] : []))
  const writtenComputations = written.filter(isComputation).map(({ kind, value }) => traitKeyOf(kind, value))
  return [
    ...sharing(writtenSources, sources).map(({ name, other }): Fault => {
      const message = `${name} and ${other} would have the same write key: remove one of them first`
      return { pointer: '', code: 'write_key_taken', message }
    }),
    ...sharing(writtenComputations, computations).map(({ name, other }): Fault => {
      const message = `${name} and ${other} would have the same key: remove one of them first`
      return { pointer: '', code: 'key_taken', message }
    }),
    ...workspaceClashes(written, facts),
  ]
}

function workspaceClashes(written: readonly Setting[], facts: SettingFacts): Fault[] {
  const [sources, destinations] = [new Map(facts.sources), new Map(facts.destinations)]
  const faults: Fault[] = []
  const clash = (message: string) => faults.push({ pointer: '', code: 'workspace_fixed', message })
  for (const setting of written) {
    const { kind, value } = setting
    if (kind === 'source') sources.set(value.id, value)
    else if (kind === 'destination') destinations.set(value.id, value)
    else continue
    const { workspaceId } = value
    const current = (kind === 'source' ? facts.sources : facts.destinations).get(value.id)?.workspaceId
    if (current !== undefined && workspaceId !== undefined && workspaceId !== current)
      clash(
        `${keyOf(setting)} belongs to workspace ${current}, but in the backup to ${workspaceId}: remove it first`,
      )
  }
  for (const { id, workspaceId, sourceIds } of destinations.values())
    for (const sourceId of sourceIds) {
      const source = sources.get(sourceId)
      if (workspaceId === undefined || !source || source.workspaceId === workspaceId) continue
      clash(
        `destination/${id} of workspace ${workspaceId} would get the events of source/${sourceId}, which does not belong to it: remove one of them first`,
      )
    }
  return faults
}

/** Whether a setting outside the backup has a key of this one. */
export function isKeyTaken(setting: Setting, facts: SettingFacts, restored: ReadonlySet<string>): boolean {
  if (setting.kind === 'source') {
    const { keys } = writeKeysOf(setting.value)
    const shares = ({ writeKey, previousWriteKey }: Source) =>
      keys.includes(writeKey) || (previousWriteKey !== undefined && keys.includes(previousWriteKey))
    return facts.sources.values().some((other) => shares(other) && !restored.has(`source/${other.id}`))
  }
  if (!isComputation(setting)) return false
  const { sourceId, key } = setting.value
  const shares = (other: Computation) => other.key === key && other.sourceId === sourceId
  return (
    facts.audiences.values().some((other) => shares(other) && !restored.has(`audience/${other.id}`)) ||
    facts.traits.values().some((other) => shares(other) && !restored.has(`trait/${other.id}`))
  )
}

const writeKeysOf = ({ id, writeKey, previousWriteKey }: Source): Named => ({
  name: `source/${id}`,
  keys: previousWriteKey === undefined ? [writeKey] : [writeKey, previousWriteKey],
})

const traitKeyOf = (kind: 'audience' | 'trait', { id, sourceId, key }: Computation): Named => ({
  name: `${kind}/${id}`,
  keys: [`${sourceId} ${key}`],
})

function sharing(written: readonly Named[], staying: readonly Named[]): { name: string; other: string }[] {
  const owners = new Map(staying.flatMap(({ name, keys }) => keys.map((key) => [key, name] as const)))
  return written.flatMap(({ name, keys }) =>
    keys.flatMap((key) => {
      const other = owners.get(key)
      return other === undefined ? [] : [{ name, other }]
    }),
  )
}
