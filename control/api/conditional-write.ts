import type { OutRecord } from '../../kafka/produce/produce.ts'
import { isTooLarge } from '../../kafka/produce/send.ts'
import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import type { Table } from '../../kafka/tables/table.ts'
import type { Logger } from '../../process/log.ts'
import type { Refusal } from '../../settings/resources/decide.ts'
import { problem } from './response.ts'

export type Conditions = {
  /** All that decisions go by. */
  tables: readonly Pick<Table, 'caughtUp'>[]
  writer: Pick<FencedWriter, 'write'>
  log: Logger
  /** So long a client waits for its answer. */
  timeoutMs?: number
}

type Write<D extends object> = {
  /** May be called again when another instance has written meanwhile. */
  decide(): D | { refusal: Refusal }
  records(decided: D): OutRecord[]
}

const TIMEOUT_MS = 10_000

/**
 * Decides on the newest that there is and writes what comes of it; resolves when Kafka has acknowledged it and this process shows
 * it. `unavailable`: Kafka did not answer in time, and the write may or may not have happened. What makes a
 * record larger than Kafka takes is refused.
 */
export async function writeConditionally<D extends object>(
  conditions: Conditions,
  write: Write<D>,
): Promise<D | { refusal: Refusal } | 'unavailable'> {
  const late = AbortSignal.timeout(conditions.timeoutMs ?? TIMEOUT_MS)
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
    await Promise.all(tables.map((table) => table.caughtUp(TIMEOUT_MS)))
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

export const unavailable = problem(
  {
    code: 'unavailable',
    message: 'Kafka does not answer: what you wrote may or may not be there. Read it, then try again',
  },
  { 'retry-after': '5' },
)
