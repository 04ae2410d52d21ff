import { randomBytes } from 'node:crypto'
import type { OutRecord } from '../../kafka/produce/produce.ts'
import { isTooLarge } from '../../kafka/produce/send.ts'
import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import type { Table } from '../../kafka/tables/table.ts'
import type { Logger } from '../../process/log.ts'
import type { Settings } from '../../settings/follow.ts'
import type { Decided, Refusal } from '../../settings/resources/decide.ts'
import type { Facts, Made } from '../../settings/resources/resource.ts'
import { type ConfigKeys, sealRecord } from '../../settings/seal.ts'
import { CONFIG, type Kind } from '../../settings/settings.ts'

export type WriteParts = Omit<Conditions, 'tables'> & {
  settings: Facts & { table: Pick<Settings['table'], 'caughtUp'> }
  keys: ConfigKeys
}

/** What a decision needs of the clock and of randomness. */
export type Moment = { now: string; made: Made }

/** `unavailable`: Kafka did not answer in time; the write may or may not have happened. */
export type Outcome<T> = Decided<T> | 'unavailable'

export type Decide<T> = (facts: Facts, moment: Moment) => Decided<T>

/** Decides on the newest settings and writes; resolves when Kafka has acknowledged it and this process shows it. */
export async function write<T extends object>(
  parts: WriteParts,
  kind: Kind,
  decide: Decide<T>,
): Promise<Outcome<T>> {
  const { settings, keys } = parts
  const moment = { now: new Date().toISOString(), made: make() }
  return conditionally(
    { ...parts, tables: [settings.table] },
    {
      decide: () => decide(settings, moment),
      records: ({ id, record }) => [configRecord({ kind, id, record }, keys)],
    },
  )
}

/** Decides as `write` does, and writes nothing. Another instance that writes is not disturbed by it. */
export const tryOut = <T extends object>(parts: WriteParts, kind: Kind, decide: Decide<T>) =>
  write({ ...parts, writer: deciding }, kind, decide)

const deciding: Pick<FencedWriter, 'write'> = {
  async write(decide) {
    const decision = decide()
    return 'refusal' in decision ? { ok: false, refusal: decision.refusal } : { ok: true }
  },
}

function make(): Made {
  return { idSuffix: randomBytes(5).toString('hex'), writeKey: randomBytes(24).toString('base64url') }
}

/** How a setting is written to topic `config`: JSON with its secrets sealed, signed; `null` is a tombstone. */
export function configRecord(
  setting: { kind: Kind; id: string; record: object | null },
  keys: ConfigKeys,
): OutRecord {
  const key = `${setting.kind}/${setting.id}`
  if (setting.record === null) return { topic: CONFIG, key, value: null }
  return { topic: CONFIG, key, value: sealRecord(key, setting.record, keys) }
}

export type Conditions = {
  /** All that decisions go by. */
  tables: readonly Pick<Table, 'caughtUp'>[]
  writer: Pick<FencedWriter, 'write'>
  log: Logger
  /** So long a client waits for its answer. */
  patienceMs?: number
}

type Write<D extends object> = {
  /** May be called again when another instance has written meanwhile. */
  decide(): D | { refusal: Refusal }
  records(decided: D): OutRecord[]
}

const PATIENCE_MS = 10_000

/**
 * Decides on the newest that there is and writes what comes of it; resolves when Kafka has acknowledged it and this process shows
 * it. `unavailable`: Kafka did not answer in time, and the write may or may not have happened. What makes a
 * record larger than Kafka takes is refused.
 */
export async function conditionally<D extends object>(
  conditions: Conditions,
  write: Write<D>,
): Promise<D | { refusal: Refusal } | 'unavailable'> {
  const late = AbortSignal.timeout(conditions.patienceMs ?? PATIENCE_MS)
  const gaveUp = new Promise<'unavailable'>((resolve) =>
    late.addEventListener('abort', () => resolve('unavailable')),
  )
  return Promise.race([gaveUp, attempt(conditions, write, late)])
}

async function attempt<D extends object>(
  { tables, writer, log }: Conditions,
  { decide, records }: Write<D>,
  late: AbortSignal,
): Promise<D | { refusal: Refusal } | 'unavailable'> {
  let outcome: D | { refusal: Refusal } | 'unavailable' = 'unavailable'
  try {
    // the writer's fence guards what is written, not a refusal: that could rest on what another instance has just changed
    await Promise.all(tables.map((table) => table.caughtUp(PATIENCE_MS)))
    const written = await writer.write(() => {
      // who has been told `unavailable` may have tried again: nothing is begun for them any more
      outcome = late.aborted ? 'unavailable' : decide()
      if (outcome === 'unavailable' || 'refusal' in outcome) return { refusal: 'no write' }
      return { records: records(outcome) }
    })
    if ('unavailable' in written) throw written.unavailable
    return outcome
  } catch (err) {
    if (isTooLarge(err)) return { refusal: { code: 'too_large' } }
    log.warn({ err }, 'what a client asked for may not have been written')
    return 'unavailable'
  }
}
