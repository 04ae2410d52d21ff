import type { components } from './schema.ts'

export type Problem = components['schemas']['Problem']
export type Fault = components['schemas']['Fault']

export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: string
  readonly status: number
  readonly faults: readonly Fault[]

  /** @param status 0 without an answer. */
  constructor(
    { code, message, errors }: { code: string; message: string; errors: readonly Fault[] },
    status: number,
  ) {
    super(message)
    this.code = code
    this.status = status
    this.faults = errors
  }
}

const noAnswer = (message: string) => new ApiError({ code: 'unreachable', message, errors: [] }, 0)

/** For requests that change nothing. */
export const unreachable = () =>
  noAnswer('Sluice is not responding. Check that its control process is running and that you are online.')

/** For changes, which may have been made. */
export const unanswered = () =>
  noAnswer('Sluice did not respond, so the change may or may not have been made. Check, then try again.')

export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'version_mismatch'

/** The console's own faults, in the API's form. */
export const validationError = (errors: readonly Fault[]) =>
  new ApiError({ code: 'validation_failed', message: 'Some fields need attention', errors }, 400)

/** The found faults that remain. New ones do not appear while the user types. */
export const remainingFaults = (found: readonly Fault[], current: readonly Fault[]): Fault[] =>
  current.filter((fault) =>
    found.some(({ pointer, code }) => pointer === fault.pointer && code === fault.code),
  )

/** @param pointer a field's JSON pointer, such as `/webhooks/0/url`. */
export const fieldError = (error: unknown, pointer: string): string | undefined =>
  error instanceof ApiError ? error.faults.find((fault) => fault.pointer === pointer)?.message : undefined

/** Faults of a field and everything in it. @param pointer such as `/rules/filter/all/0`. */
export const faultsWithin = (error: unknown, pointer: string): readonly Fault[] =>
  error instanceof ApiError ? error.faults.filter((fault) => isWithin(fault.pointer, pointer)) : []

export const isWithin = (pointer: string, parent: string): boolean =>
  pointer === parent || pointer.startsWith(`${parent}/`)

/** @param body of an unsuccessful answer, perhaps a proxy's. */
export function toApiError(body: unknown, status: number): ApiError {
  if (isProblem(body)) return new ApiError(body, status)
  const advice =
    status === 413
      ? 'What you sent is larger than it allows: send less, or raise its limit.'
      : 'Try again in a moment.'
  const message = `A proxy between your browser and Sluice answered ${status}. ${advice}`
  return new ApiError({ code: 'unknown', message, errors: [] }, status)
}

const SESSION_ENDED = { code: 'unauthorized', message: 'Your session had ended. Try again.', errors: [] }

/** For changes. The form keeps what was typed, and shows this after the next sign-in. */
export const toChangeError = (body: unknown, status: number): ApiError =>
  toApiError(status === 401 ? SESSION_ENDED : body, status)

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'code' in body && 'message' in body && 'errors' in body

/**
 * Drops faults whose value has changed since it was sent.
 * @returns undefined if no fault is left.
 */
export function uncorrected(error: unknown, sent: unknown, current: unknown): unknown {
  if (!(error instanceof ApiError) || error.faults.length === 0) return error
  const errors = error.faults.filter(
    ({ pointer }) => JSON.stringify(valueAt(sent, pointer)) === JSON.stringify(valueAt(current, pointer)),
  )
  if (errors.length === error.faults.length) return error
  return errors.length === 0
    ? undefined
    : new ApiError({ code: error.code, message: error.message, errors }, error.status)
}

/** A mutation with only the uncorrected faults. @param current what would be sent now. */
export const withoutCorrected = <M extends { error: unknown; variables: unknown }>(
  mutation: M,
  current: unknown,
): M => ({ ...mutation, error: uncorrected(mutation.error, mutation.variables, current) })

/** @param pointer RFC 6901 */
export const valueAt = (document: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (value, name) => Object.entries(value ?? {}).find(([key]) => key === name)?.[1],
      document,
    )
