import { type Answer, etag, type Fault, invalid, problem } from './answer.ts'

/** Why a write is not made. */
export type Refusal =
  | { code: 'not_found'; what: string }
  | { code: 'version_mismatch'; current: number }
  | { code: 'faulty'; faults: readonly Fault[] }
  | { code: 'in_use'; faults: readonly Fault[] }

/** Faults of no request by itself: another record stands in the way. */
const CONFLICTS = new Set(['id_taken', 'write_key_taken', 'already_suppressed'])

export function answerTo(refusal: Refusal): Answer {
  switch (refusal.code) {
    case 'not_found':
      return problem(404, { code: 'not_found', message: `There is no ${refusal.what}` })
    case 'version_mismatch': {
      const message = `It is at version ${refusal.current} by now: read it again, and repeat the change on that`
      return problem(412, { code: 'version_mismatch', message }, { etag: etag(refusal.current) })
    }
    case 'in_use':
      return conflict(refusal.faults)
    case 'faulty':
      return refusal.faults.every(({ code }) => CONFLICTS.has(code))
        ? conflict(refusal.faults)
        : invalid(refusal.faults)
  }
}

function conflict(errors: readonly Fault[]): Answer {
  const code = errors[0]?.code ?? 'conflict'
  return problem(409, { code, message: errors.map(({ message }) => message).join('; '), errors })
}
