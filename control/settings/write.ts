import { randomBytes } from 'node:crypto'
import type { OutRecord } from '../../kafka/produce/produce.ts'
import { isRecordFault } from '../../kafka/produce/send.ts'
import type { Decision, FencedWriter } from '../../kafka/produce/transactions.ts'
import { batchesOf } from '../../process/batches.ts'
import type { Logger } from '../../process/log.ts'
import type { Settings } from '../../settings/follow.ts'
import { readSetting } from '../../settings/read.ts'
import type { Decided } from '../../settings/resources/decide.ts'
import type { Facts, Generated } from '../../settings/resources/resource.ts'
import { type ConfigKeys, sealRecord, verify } from '../../settings/seal.ts'
import { CONFIG, KINDS, type Kind } from '../../settings/settings.ts'
import { type Conditions, writeConditionally } from '../api/conditional-write.ts'

export type WriteParts = Omit<Conditions, 'tables'> & {
  settings: Facts & { table: Pick<Settings['table'], 'caughtUp'> }
  keys: ConfigKeys
}

export type Moment = { now: string; made: Generated }

/** `unavailable`: Kafka did not answer in time; the write may have happened. */
export type Outcome<T> = Decided<T> | 'unavailable'

export type Decide<T> = (facts: Facts, moment: Moment) => Decided<T>

/** Decides and writes as `writeConditionally` does. */
export async function write<T extends object>(
  parts: WriteParts,
  kind: Kind,
  decide: Decide<T>,
): Promise<Outcome<T>> {
  const { settings, keys } = parts
  const moment = { now: new Date().toISOString(), made: make() }
  return writeConditionally(
    { ...parts, tables: [settings.table] },
    {
      decide: () => decide(settings, moment),
      records: ({ id, record }) => [configRecord({ kind, id, record }, keys)],
    },
  )
}

/** Like `write`, but writes nothing, so it fences out no other instance. */
export const writeDry = <T extends object>(parts: WriteParts, kind: Kind, decide: Decide<T>) =>
  write({ ...parts, writer: deciding }, kind, decide)

const deciding: Pick<FencedWriter, 'write'> = {
  async write(decide) {
    const decision = decide()
    return 'refusal' in decision ? { ok: false, refusal: decision.refusal } : { ok: true }
  },
}

function make(): Generated {
  const key = (bytes: number) => randomBytes(bytes).toString('base64url')
  return { idSuffix: randomBytes(5).toString('hex'), writeKey: key(24), hashKey: key(32) }
}

/** Signed JSON with sealed secrets. `null` removes the setting. */
export function configRecord(
  setting: { kind: Kind; id: string; record: object | null },
  keys: ConfigKeys,
): OutRecord {
  const key = `${setting.kind}/${setting.id}`
  if (setting.record === null) return { topic: CONFIG, key, value: null }
  return { topic: CONFIG, key, value: sealRecord(key, setting.record, keys) }
}

type Resealing = {
  settings: { table: Pick<Settings['table'], 'entries' | 'get'> }
  writer: Pick<FencedWriter, 'write'>
  keys: ConfigKeys
  log: Pick<Logger, 'info' | 'warn'>
}

const AT_ONCE = 100
const MAX_NAMED = 10

/**
 * Rewrites unsigned settings and those signed with an old key, so that neither UNSIGNED_SETTINGS=refuse nor dropping
 * the old key locks them out. Skips what cannot be read.
 */
export async function resealSettings({ settings, writer, keys, log }: Resealing): Promise<void> {
  const { table } = settings
  const old = [...table.entries()].filter(([key, value]) => isOld(key, value, keys))
  const failed: { setting: string; err: Error }[] = []
  let count = 0
  for (const some of batchesOf(old, AT_ONCE)) {
    // separate decisions: the writer divides them into requests that Kafka accepts
    const written = await Promise.all(some.map(([key, value]) => writer.write(() => reseal(key, value))))
    count += written.filter(({ ok }) => ok).length
    for (const [index, each] of written.entries())
      if ('unavailable' in each) failed.push({ setting: some[index]?.[0] ?? '', err: each.unavailable })
    // one that Kafka refuses must not keep others from being signed
    if (failed.some(({ err }) => !isRecordFault(err))) break
  }
  if (failed.length > 0) {
    const named = failed.slice(0, MAX_NAMED).map(({ setting }) => setting)
    const text = 'some old settings were not signed again; control tries again at its next start'
    return log.warn({ err: failed[0]?.err, settings: named }, text)
  }
  if (count > 0) log.info({ settings: count }, 'old settings are signed and sealed again')

  function reseal(key: string, value: Buffer): Decision<string> {
    // not a newer record. Compares bytes: a retry finds a copy of the buffer
    const records = table.get(key)?.equals(value) ? resealed(key, value, keys) : []
    return records.length > 0 ? { records } : { refusal: 'it is not old any more, or cannot be read' }
  }
}

function isOld(key: string, value: Buffer, keys: ConfigKeys): boolean {
  const verified = verify(key, value.toString(), keys)
  return verified === 'unsigned' || (typeof verified === 'object' && verified.isOld)
}

function resealed(key: string, value: Buffer, keys: ConfigKeys) {
  const read = readSetting(key, value, { keys, kinds: KINDS })
  if (!read || 'unread' in read) return []
  const { kind, value: record } = read
  return [configRecord({ kind, id: record.id, record }, keys)]
}
