import { z } from 'zod'
import { type Code, isCode, statusOf } from '../../settings/error-codes.ts'
import type { Fault } from '../../settings/faults.ts'
import type { Refusal } from '../../settings/resources/decide.ts'

/** What a request comes to, before it is HTTP. Without `body` nothing is sent. */
export type ApiResponse = { status: number; headers?: Record<string, string>; body?: unknown }

/** `message` says what to do; `errors` is empty where nothing in the request's content is at fault. */
export type Problem = { code: Code; message: string; errors?: readonly Fault[] }

/** The one shape of all errors. */
export function problem(
  { code, message, errors = [] }: Problem,
  headers: Record<string, string> = {},
): ApiResponse {
  return { status: statusOf(code), headers, body: { code, message, errors } }
}

/** HTTP's own name of a version, for `ETag`. */
export const etag = (version: number) => `"${version}"`

/** Nobody reads more, and a body of 1 MB can have 500,000 faults. */
const MOST_ERRORS = 100

/** The request's content is at fault: all of it that is, at once, or the first hundred. */
export function invalid(errors: readonly Fault[]): ApiResponse {
  const count = errors.length === 1 ? 'One thing is' : `${errors.length} things are`
  const where = errors.length > MOST_ERRORS ? `errors has the first ${MOST_ERRORS}` : 'see errors'
  return problem({
    code: 'validation_failed',
    message: `${count} wrong with the request: ${where}`,
    errors: errors.slice(0, MOST_ERRORS),
  })
}

export function refusalResponse(refusal: Refusal): ApiResponse {
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
function conflict(errors: readonly Fault[]): ApiResponse | undefined {
  const codes = errors.map((fault) => fault.code).filter(isCode)
  const [code] = codes
  if (code === undefined || codes.length < errors.length) return undefined
  return problem({ code, message: errors.map(({ message }) => message).join('; '), errors })
}

const versionShape = z
  .string()
  .regex(/^\s*(?:"\d{1,15}"|\d{1,15})\s*$/)
  .transform((text) => Number(text.replaceAll('"', '')))

/** @returns the version that an `If-Match` header asks for (`"3"` or `3`), undefined without one, or why it cannot be used. */
export function versionAsked(
  ifMatch: string | undefined,
): { version: number | undefined } | { refused: ApiResponse } {
  if (ifMatch === undefined) return { version: undefined }
  const { success, data: version } = versionShape.safeParse(ifMatch)
  if (success) return { version }
  const message = 'If-Match takes one version, like "3" or 3: the version of the record that you have read'
  return { refused: problem({ code: 'invalid_if_match', message }) }
}

/** A replacement must say what it replaces, or it could undo what somebody else has just written. */
export const versionNeeded = problem({
  code: 'precondition_required',
  message: 'Send If-Match with the version of the record that you have read, like If-Match: "3"',
})

/** As operations declare it. */
export const ifMatch = (required: boolean) => ({
  'if-match': {
    schema: versionShape,
    required,
    description: 'The `version` of the record that you have read, as `"3"` or `3`.',
  },
})

/** As `isoTime` makes it. */
export const timeShape = z.iso.datetime().nullable()

/** ISO 8601 UTC with milliseconds. What is beyond all dates is shown as none. */
export const isoTime = (ms: number): string | null =>
  Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : null
