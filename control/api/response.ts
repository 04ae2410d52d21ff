import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { type Code, isCode, statusOf } from '../../settings/error-codes.ts'
import { type Fault, MAX_FAULTS } from '../../settings/faults.ts'
import type { Refusal } from '../../settings/resources/decide.ts'

/** Without `body` nothing is sent. */
export type ApiResponse = { status: number; headers?: Record<string, string | string[]>; body?: unknown }

export type FixedResponse = (request: { headers: IncomingHttpHeaders }) => ApiResponse

/** Answers 304 if the client has it. All requests share its bytes, so slow readers cost no memory. */
export function fixedResponse(bytes: Buffer, headers: Record<string, string>): FixedResponse {
  const tag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  const found = { status: 200, headers: { ...headers, etag: tag }, body: bytes }
  const unchanged = { status: 304, headers: { ...headers, etag: tag } }
  // proxies that compress turn it into W/"..."
  return ({ headers: { 'if-none-match': known } }) => (known?.includes(tag) ? unchanged : found)
}

/** `message` says what to do. `errors` is empty unless the request's content is invalid. */
export type Problem = { code: Code; message: string; errors?: readonly Fault[] }

export function problem(
  { code, message, errors = [] }: Problem,
  headers: Record<string, string> = {},
): ApiResponse {
  return { status: statusOf(code), headers, body: { code, message, errors } }
}

export const etag = (version: number) => `"${version}"`

export function invalid(errors: readonly Fault[]): ApiResponse {
  const count = errors.length === 1 ? 'One error' : `${errors.length} errors`
  const where = errors.length > MAX_FAULTS ? `errors lists the first ${MAX_FAULTS}` : 'see errors'
  return problem({
    code: 'validation_failed',
    message: `${count} in the request: ${where}`,
    errors: errors.slice(0, MAX_FAULTS),
  })
}

export function refusalResponse(refusal: Refusal): ApiResponse {
  switch (refusal.code) {
    case 'not_found':
      return problem({ code: 'not_found', message: `There is no ${refusal.what}` })
    case 'unreadable': {
      const { what, reason, isKept = false } = refusal
      const action = isKept ? 'save it again' : 'create it again under this id'
      const message = `The ${isKept ? 'newest ' : ''}record of ${what} cannot be read (${reason}): ${action}, or remove it`
      return problem({ code: 'setting_unreadable', message })
    }
    case 'version_mismatch': {
      const message = `The record is now at version ${refusal.current}: read it again, then repeat your change`
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
    'The resulting record is larger than Kafka takes (max.message.bytes of the topic): send less at once',
})

/** Conflicts have their own code instead of `validation_failed`. */
function conflict(errors: readonly Fault[]): ApiResponse | undefined {
  const codes = errors.map((fault) => fault.code).filter(isCode)
  const [code] = codes
  if (code === undefined || codes.length < errors.length) return undefined
  return problem({ code, message: errors.map(({ message }) => message).join('; '), errors })
}

const versionShape = z
  .string()
  // proxies that compress make an ETag weak
  .regex(/^\s*(?:(?:W\/)?"\d{1,15}"|\d{1,15})\s*$/)
  .transform((text) => Number(text.replaceAll(/\D/g, '')))

/** Parses `If-Match` (`"3"` or `3`). @returns `refused` if it is invalid. */
export function versionAsked(
  ifMatch: string | undefined,
): { version: number | undefined } | { refused: ApiResponse } {
  if (ifMatch === undefined) return { version: undefined }
  const { success, data: version } = versionShape.safeParse(ifMatch)
  if (success) return { version }
  const message = 'If-Match takes the version of the record you have read, like "3" or 3'
  return { refused: problem({ code: 'invalid_if_match', message }) }
}

/** Without the version, a replacement could undo someone else's change. */
export const versionNeeded = problem({
  code: 'precondition_required',
  message: 'Send If-Match with the version of the record you have read, like If-Match: "3"',
})

export const ifMatch = (required: boolean) => ({
  'if-match': {
    schema: versionShape,
    required,
    description: 'The `version` of the record you have read, as `"3"` or `3`.',
  },
})

/** As `isoTime` formats it. */
export const timeShape = z.iso.datetime().nullable()

/** ISO 8601 UTC with milliseconds; null without a time or beyond the range of dates. */
export const isoTime = (ms: number | null | undefined): string | null =>
  typeof ms === 'number' && Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : null
