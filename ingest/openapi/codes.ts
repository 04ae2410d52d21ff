import { CODES, type Code } from '../codes.ts'
import type { Route } from '../http/routes.ts'

/** Of what is broken or too slow, wherever it was to go. */
const BROKEN: readonly Code[] = ['bad_request', 'request_timeout', 'headers_too_large']
const ANYWHERE: readonly Code[] = [...BROKEN, 'internal_error']

/** No single call, and no single route, has these. */
const NOT_SINGLE: readonly Code[] = [
  'not_found',
  'method_not_allowed',
  'unknown_type',
  'batch_not_array',
  'empty_batch',
  'batch_too_large',
  'too_many_calls',
]

/** Of a batch as a whole; its calls have theirs in the list of what was rejected. */
const BATCH: readonly Code[] = [
  ...ANYWHERE,
  'invalid_json',
  'invalid_encoding',
  'unsupported_encoding',
  'unknown_source',
  'source_disabled',
  'inflates_too_much',
  'rate_limited',
  'too_many_attempts',
  'batch_not_array',
  'empty_batch',
  'too_deep',
  'batch_too_large',
  'too_many_calls',
  'unavailable',
  'source_unreadable',
  'storage_full',
]

const SINGLE: readonly Code[] = CODES.filter((code) => !NOT_SINGLE.includes(code))

/** The codes that a request to a route may be answered with. */
export function codesAt(route: Route): readonly Code[] {
  if (route.serves === 'calls') return route.type === 'batch' ? BATCH : SINGLE
  // a pixel comes whatever goes wrong, and a probe says so in its own way
  return route.serves === 'pixel' || route.serves === 'probe' ? BROKEN : ANYWHERE
}
