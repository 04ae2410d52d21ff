import type { components } from './schema.ts'

export type Problem = components['schemas']['Problem']
export type Fault = components['schemas']['Fault']

/** What the API refused, in its own words; or that it cannot be reached. */
export class Refused extends Error {
  override name = 'Refused'
  readonly code: string
  readonly status: number
  readonly faults: readonly Fault[]

  /** @param status 0: there was no answer. */
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

const noAnswer = (message: string) => new Refused({ code: 'unreachable', message, errors: [] }, 0)

/** To a question. */
export const unreachable = () =>
  noAnswer('Sluice does not answer. Is its control process running, and this computer online?')

/** To a change, which may have been made all the same. */
export const unanswered = () =>
  noAnswer('Sluice did not answer: it is not known whether this was done. Look, and try again.')

export const isConflict = (error: unknown): boolean =>
  error instanceof Refused && error.code === 'version_mismatch'

/** What is wrong with some fields, as the API would say it. */
export const faulty = (errors: readonly Fault[]) =>
  new Refused({ code: 'validation_failed', message: 'Something in the form is not right yet', errors }, 400)

/** What is wrong at one place of a form: a JSON pointer, as `/webhooks/0/url`. */
export const faultAt = (error: unknown, pointer: string): string | undefined =>
  error instanceof Refused ? error.faults.find((fault) => fault.pointer === pointer)?.message : undefined

/** @param body of an answer that is no success, whatever has answered. */
export function refusal(body: unknown, status: number): Refused {
  if (isProblem(body)) return new Refused(body, status)
  const message = `Something between here and Sluice answered ${status}: try again in a moment.`
  return new Refused({ code: 'unknown', message, errors: [] }, status)
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'code' in body && 'message' in body && 'errors' in body
