/** The codes of this library. Those of single calls are the service's own, where it has one for the fault. */
export const CODES = [
  'write_key_required',
  'invalid_endpoint',
  'invalid_option',
  'call_not_object',
  'unknown_field',
  'no_user_or_anonymous_id',
  'user_id_required',
  'previous_id_required',
  'group_id_required',
  'event_not_defined',
  'event_not_string',
  'name_not_string',
  'category_not_string',
  'id_not_string',
  'message_id_not_string',
  'message_id_too_long',
  'invalid_timestamp',
  'properties_not_object',
  'traits_not_object',
  'context_not_object',
  'integrations_not_object',
  'integrations_all_not_boolean',
  'not_serialisable',
  'too_deep',
  'call_too_large',
  'queue_full',
  'closed',
  'rejected',
  'gave_up',
  'not_sent',
] as const

export type Code = (typeof CODES)[number]

/** What else is known of an error, where it applies. */
export type Details = {
  cause?: unknown
  /** The answer's HTTP status. */
  status?: number
  /** The service's own code for a request that it refused as a whole, such as `unknown_source`. */
  reason?: string
  /** How many times the request was made. */
  tries?: number
  /** How many calls it is about. */
  calls?: number
}

/** The one error that this library throws, rejects with and reports. */
export class AnalyticsError extends Error {
  override readonly name = 'AnalyticsError'
  /**
   * One of the README's table. A call that the service has rejected from within a batch has the service's code, which may be
   * one that this version of the library does not know.
   */
  readonly code: Code | (string & Record<never, never>)
  // declared alone: an error has no fields that say nothing
  declare readonly status?: number
  declare readonly reason?: string
  declare readonly tries?: number
  declare readonly calls?: number

  constructor(code: string, message: string, { cause, ...facts }: Details = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    Object.assign(this, facts)
  }
}

/** So many calls, as messages say it. */
export const callsOf = (count: number): string => (count === 1 ? '1 call' : `${count} calls`)

/** The same for codes of this library alone, which the compiler then knows. */
export function fault(code: Code, message: string, details?: Details): AnalyticsError {
  return new AnalyticsError(code, message, details)
}
