import type { Logger } from '../log.ts'
import type { Kind } from '../schemas/settings.ts'
import { type Answer, etag, problem } from './answer.ts'
import type { Who } from './auth.ts'
import { mask } from './mask.ts'
import type { Stamp } from './noun.ts'
import { answerTo } from './refusal.ts'
import type { Outcome } from './write.ts'

export const unavailable = problem(
  503,
  {
    code: 'unavailable',
    message: 'Kafka does not answer: what you wrote may or may not be there. Read it, then try again',
  },
  { 'retry-after': '5' },
)

/** A record as it is answered: secrets masked, what identifies it first. */
export function shown<T extends Stamp>(record: T, who: Who): object {
  const { id, version, updatedAt, ...rest } = mask(record, who)
  return { id, ...rest, version, updatedAt }
}

/** @param by.at the path of this kind of record. */
export function answerToWrite<T extends Stamp>(
  outcome: Outcome<T>,
  { who, at }: { who: Who; at: string },
): Answer {
  if (outcome === 'unavailable') return unavailable
  if ('refusal' in outcome) return answerTo(outcome.refusal)
  const { id, record } = outcome
  if (record === null) return { status: 204 }
  const answer = { headers: { etag: etag(record.version) }, body: shown(record, who) }
  // only what is new is at version 1
  if (record.version > 1) return { status: 200, ...answer }
  return { status: 201, ...answer, headers: { ...answer.headers, location: `${at}/${id}` } }
}

type Written = { who: Who; noun: Kind; id: string | undefined }

/** The one line of a write: no names and no values, so no secrets. */
export function logWrite<T extends Stamp>(
  log: Pick<Logger, 'info'>,
  written: Written,
  outcome: Outcome<T>,
): void {
  const refused = typeof outcome === 'object' && 'refusal' in outcome ? outcome.refusal : undefined
  const done = typeof outcome === 'object' && 'id' in outcome ? outcome : undefined
  log.info(
    {
      ...written,
      id: done?.id ?? written.id,
      version: done?.record?.version,
      outcome: done ? (done.record ? 'written' : 'removed') : (refused?.code ?? 'unavailable'),
      codes: refused && 'faults' in refused ? refused.faults.map(({ code }) => code) : undefined,
    },
    'setting',
  )
}
