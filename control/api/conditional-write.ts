import type { OutRecord } from '../../kafka/produce/produce.ts'
import { isTooLarge } from '../../kafka/produce/send.ts'
import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import type { Table } from '../../kafka/tables/table.ts'
import type { Logger } from '../../process/log.ts'
import type { Refusal } from '../../settings/resources/decide.ts'
import { CLIENT_WAIT_MS } from './concurrency.ts'
import { problem } from './response.ts'

export type Conditions = {
  tables: readonly Pick<Table, 'caughtUp'>[]
  writer: Pick<FencedWriter, 'write'>
  log: Logger
  timeoutMs?: number
}

type Write<D extends object> = {
  /** Called again if another instance has written meanwhile. */
  decide(): D | { refusal: Refusal }
  records(decided: D): OutRecord[]
}

/**
 * Decides on the newest state. Resolves once Kafka has acknowledged the write and this process shows it.
 * `unavailable`: Kafka did not answer in time; the write may have happened. Refuses a record larger than Kafka takes.
 */
export async function writeConditionally<D extends object>(
  conditions: Conditions,
  write: Write<D>,
): Promise<D | { refusal: Refusal } | 'unavailable'> {
  const late = AbortSignal.timeout(conditions.timeoutMs ?? CLIENT_WAIT_MS)
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
    // the fence protects only writes: a refusal could rest on a stale state
    await Promise.all(tables.map((table) => table.caughtUp(CLIENT_WAIT_MS)))
    const written = await writer.write(() => {
      // the client already got `unavailable` and may have retried
      outcome = late.aborted ? 'unavailable' : decide()
      if (outcome === 'unavailable' || 'refusal' in outcome) return { refusal: 'no write' }
      return { records: records(outcome) }
    })
    if ('unavailable' in written) throw written.unavailable
    return outcome
  } catch (err) {
    if (isTooLarge(err)) return { refusal: { code: 'too_large' } }
    log.warn({ err }, "a client's write may have failed")
    return 'unavailable'
  }
}

export const unavailable = problem(
  {
    code: 'unavailable',
    message: 'Kafka does not answer, so your change may or may not have been made. Read it, then try again',
  },
  { 'retry-after': '5' },
)
