/** Faults of calls have the service's code where it has one. */
export const CODES = [
  'unsupported_node',
  'write_key_required',
  'invalid_endpoint',
  'invalid_option',
  'call_not_object',
  'callback_not_function',
  'unknown_event',
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

export type Details = {
  cause?: unknown
  status?: number
  /** The service's code for the rejection, such as `unknown_source`. */
  reason?: string
  tries?: number
  /** Number of calls concerned. */
  calls?: number
}

/** Every error of this library. */
export class AnalyticsError extends Error {
  override readonly name = 'AnalyticsError'
  /** A code in the README. For a single call that the service rejected, the service's code, which may be newer. */
  readonly code: Code | (string & Record<never, never>)
  // declared only, so that errors have no undefined fields
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

export const callsOf = (count: number): string => (count === 1 ? '1 call' : `${count} calls`)

export function fault(code: Code, message: string, details?: Details): AnalyticsError {
  return new AnalyticsError(code, message, details)
}
