import type { Logger } from '../../process/log.ts'
import { mask, type Who } from '../../settings/mask.ts'
import type { Stamp } from '../../settings/resources/resource.ts'
import type { Kind } from '../../settings/settings.ts'
import { audit } from '../api/audit.ts'
import type { Caller } from '../api/auth/tokens.ts'
import { unavailable } from '../api/conditional-write.ts'
import { type ApiResponse, etag, problem, refusalResponse } from '../api/response.ts'
import { changesOf } from './changes.ts'
import type { Outcome } from './write.ts'

const undecided = problem(
  { code: 'unavailable', message: 'Kafka does not answer, so the result cannot be predicted: try again' },
  { 'retry-after': '5' },
)

export function shown<T extends Stamp>(record: T, who: Who): object {
  const { id, version, updatedAt, ...rest } = mask(record, who)
  return { id, ...rest, version, updatedAt }
}

/** @param by.at path of the record's kind. */
export function writeResponse<T extends Stamp>(
  outcome: Outcome<T>,
  { who, at }: { who: Who; at: string },
): ApiResponse {
  if (outcome === 'unavailable') return unavailable
  if ('refusal' in outcome) return refusalResponse(outcome.refusal)
  const { id, record, old } = outcome
  if (record === null) return { status: 204 }
  const answer = { headers: { etag: etag(record.version) }, body: shown(record, who) }
  if (old) return { status: 200, ...answer }
  return { status: 201, ...answer, headers: { ...answer.headers, location: `${at}/${id}` } }
}

/** The record as it would be written, and the changed fields. */
export function dryRunResponse<T extends Stamp>(outcome: Outcome<T>, who: Who): ApiResponse {
  if (outcome === 'unavailable') return undecided
  if ('refusal' in outcome) return refusalResponse(outcome.refusal)
  const { record, old } = outcome
  if (record === null) return { status: 204 }
  const changed = Object.keys(changesOf(old, record))
  return {
    status: 200,
    ...(old && { headers: { etag: etag(old.version) } }),
    body: { ...shown(record, who), changed },
  }
}

type Written = { caller: Caller; what: Kind; id: string | undefined }

export function logWrite<T extends Stamp>(
  log: Pick<Logger, 'info'>,
  { caller, what, id }: Written,
  outcome: Outcome<T>,
): void {
  if (outcome === 'unavailable') {
    audit(log, caller, { what, id, outcome })
    return
  }
  if ('refusal' in outcome) {
    const { refusal } = outcome
    const codes = 'faults' in refusal ? refusal.faults.map(({ code }) => code) : undefined
    log.info({ ...caller, what, id, outcome: refusal.code, codes }, 'refused')
    return
  }
  const { record, old } = outcome
  audit(log, caller, {
    what,
    id: outcome.id,
    version: record?.version,
    outcome: record ? (old ? 'replaced' : 'created') : 'removed',
    changes: changesOf(old, record ?? undefined),
  })
}
