import { type Answer, etag, type Fault, invalid, problem } from './answer.ts'
import { isCode } from './codes.ts'

/** Why a write is not made. */
export type Refusal =
  | { code: 'not_found'; what: string }
  | { code: 'unreadable'; what: string; reason: string }
  | { code: 'version_mismatch'; current: number }
  | { code: 'faulty'; faults: readonly Fault[] }
  | { code: 'in_use'; faults: readonly Fault[] }
  /** Of what would be written: for a record in Kafka. */
  | { code: 'too_large' }

export function answerTo(refusal: Refusal): Answer {
  switch (refusal.code) {
    case 'not_found':
      return problem({ code: 'not_found', message: `There is no ${refusal.what}` })
    case 'unreadable': {
      const message = `The record of ${refusal.what} cannot be read (${refusal.reason}): create it anew under this id, or remove it`
      return problem({ code: 'setting_unreadable', message })
    }
    case 'version_mismatch': {
      const message = `It is at version ${refusal.current} by now: read it again, and repeat the change on that`
      return problem({ code: 'version_mismatch', message }, { etag: etag(refusal.current) })
    }
    case 'too_large':
      return tooLarge
    case 'in_use':
    case 'faulty':
      return conflict(refusal.faults) ?? invalid(refusal.faults)
  }
}

const tooLarge = problem({
  code: 'body_too_large',
  message:
    'What this would write is larger than Kafka takes (max.message.bytes of the topic): say less at once',
})

/** Faults of no request by itself have a code of their own: another record stands in the way. */
function conflict(errors: readonly Fault[]): Answer | undefined {
  const codes = errors.map((fault) => fault.code).filter(isCode)
  const [code] = codes
  if (code === undefined || codes.length < errors.length) return undefined
  return problem({ code, message: errors.map(({ message }) => message).join('; '), errors })
}
