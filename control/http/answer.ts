import { type Code, type FaultCode, statusOf } from './codes.ts'

/** One thing wrong with a request. `pointer`: RFC 6901, into the body or the query; `''` is the whole. */
export type Fault = { pointer: string; code: FaultCode; message: string }

/** What a request comes to, before it is HTTP. Without `body` nothing is sent. */
export type Answer = { status: number; headers?: Record<string, string>; body?: unknown }

/** `message` says what to do; `errors` is empty where nothing in the request's content is at fault. */
export type Problem = { code: Code; message: string; errors?: readonly Fault[] }

/** The one shape of all errors. */
export function problem(
  { code, message, errors = [] }: Problem,
  headers: Record<string, string> = {},
): Answer {
  return { status: statusOf(code), headers, body: { code, message, errors } }
}

/** HTTP's own name of a version, for `ETag`. */
export const etag = (version: number) => `"${version}"`

/** Nobody reads more, and a body of 1 MB can have 500,000 faults. */
const MOST_ERRORS = 100

/** The request's content is at fault: all of it that is, at once, or the first hundred. */
export function invalid(errors: readonly Fault[]): Answer {
  const count = errors.length === 1 ? 'One thing is' : `${errors.length} things are`
  const where = errors.length > MOST_ERRORS ? `errors has the first ${MOST_ERRORS}` : 'see errors'
  return problem({
    code: 'validation_failed',
    message: `${count} wrong with the request: ${where}`,
    errors: errors.slice(0, MOST_ERRORS),
  })
}
