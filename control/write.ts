import { randomBytes } from 'node:crypto'
import type { FencedWriter } from '../kafka/fenced.ts'
import type { Logger } from '../log.ts'
import type { Settings } from '../schemas/follow.ts'
import type { Keys } from '../schemas/seal.ts'
import type { Kind } from '../schemas/settings.ts'
import type { Decided } from './decide.ts'
import type { Facts, Made } from './noun.ts'
import { configRecord } from './record.ts'

export type WriteParts = {
  settings: Facts & { table: Pick<Settings['table'], 'caughtUp'> }
  writer: Pick<FencedWriter, 'write'>
  keys: Keys
  log: Logger
  /** So long a client waits for its answer. */
  patienceMs?: number
}

/** What a decision needs of the clock and of randomness. */
export type Moment = { now: string; made: Made }

/** `unavailable`: Kafka did not answer in time; the write may or may not have happened. */
export type Outcome<T> = Decided<T> | 'unavailable'

const PATIENCE_MS = 10_000

export type Decide<T> = (facts: Facts, moment: Moment) => Decided<T>

/** Decides on the newest settings and writes; resolves when Kafka has acknowledged it and this process shows it. */
export async function write<T extends object>(
  parts: WriteParts,
  kind: Kind,
  decide: Decide<T>,
): Promise<Outcome<T>> {
  const late = AbortSignal.timeout(parts.patienceMs ?? PATIENCE_MS)
  const gaveUp = new Promise<'unavailable'>((resolve) =>
    late.addEventListener('abort', () => resolve('unavailable')),
  )
  return Promise.race([gaveUp, attempt(parts, { kind, decide, late })])
}

type Attempt<T> = { kind: Kind; decide: Decide<T>; late: AbortSignal }

async function attempt<T extends object>(
  parts: WriteParts,
  { kind, decide, late }: Attempt<T>,
): Promise<Outcome<T>> {
  const { settings, writer, keys, log } = parts
  const moment = { now: new Date().toISOString(), made: make() }
  let outcome: Outcome<T> = 'unavailable'
  try {
    // the writer's fence guards what is written, not a refusal: that could rest on what another instance has just changed
    await settings.table.caughtUp(PATIENCE_MS)
    const written = await writer.write(() => {
      // who has been told `unavailable` may have tried again: nothing is begun for them any more
      outcome = late.aborted ? 'unavailable' : decide(settings, moment)
      if (outcome === 'unavailable' || 'refusal' in outcome) return { refusal: 'no write' }
      return { records: [configRecord({ kind, ...outcome }, keys)] }
    })
    if ('unavailable' in written) throw written.unavailable
    return outcome
  } catch (err) {
    log.warn({ err }, 'a setting may not have been written')
    return 'unavailable'
  }
}

function make(): Made {
  return { idSuffix: randomBytes(5).toString('hex'), writeKey: randomBytes(24).toString('base64url') }
}
