import { randomBytes } from 'node:crypto'
import type { OutRecord } from '../../kafka/produce/produce.ts'
import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import type { Settings } from '../../settings/follow.ts'
import type { Decided } from '../../settings/resources/decide.ts'
import type { Facts, Generated } from '../../settings/resources/resource.ts'
import { type ConfigKeys, sealRecord } from '../../settings/seal.ts'
import { CONFIG, type Kind } from '../../settings/settings.ts'
import { type Conditions, writeConditionally } from '../api/conditional-write.ts'

export type WriteParts = Omit<Conditions, 'tables'> & {
  settings: Facts & { table: Pick<Settings['table'], 'caughtUp'> }
  keys: ConfigKeys
}

/** Time and random values for a decision. */
export type Moment = { now: string; made: Generated }

/** `unavailable`: Kafka did not answer in time; the write may or may not have happened. */
export type Outcome<T> = Decided<T> | 'unavailable'

export type Decide<T> = (facts: Facts, moment: Moment) => Decided<T>

/**
 * Decides on the newest settings and writes. Resolves once Kafka has acknowledged the write and this process
 * shows it.
 */
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

/** Decides like `write` but writes nothing, so it cannot fence out another instance. */
export const writeDry = <T extends object>(parts: WriteParts, kind: Kind, decide: Decide<T>) =>
  write({ ...parts, writer: deciding }, kind, decide)

const deciding: Pick<FencedWriter, 'write'> = {
  async write(decide) {
    const decision = decide()
    return 'refusal' in decision ? { ok: false, refusal: decision.refusal } : { ok: true }
  },
}

function make(): Generated {
  return { idSuffix: randomBytes(5).toString('hex'), writeKey: randomBytes(24).toString('base64url') }
}

/** A setting as a record of topic `config`: signed JSON with sealed secrets; `null` removes it. */
export function configRecord(
  setting: { kind: Kind; id: string; record: object | null },
  keys: ConfigKeys,
): OutRecord {
  const key = `${setting.kind}/${setting.id}`
  if (setting.record === null) return { topic: CONFIG, key, value: null }
  return { topic: CONFIG, key, value: sealRecord(key, setting.record, keys) }
}
