import type { Code } from '../http/codes.ts'
import { accessTo, isRead, type Operation } from '../http/operation.ts'

const CONTENT: readonly Code[] = [
  'bad_request',
  'invalid_json',
  'too_deep',
  'unsupported_media_type',
  'body_too_large',
  'request_timeout',
]

/** Every code that a request may be answered with: those that its operation names, and those of all of its kind. */
export function codesOf(method: string, path: string, operation: Operation): readonly Code[] {
  const access = accessTo(method, operation)
  const isChange = !isRead(method)
  return [
    ...new Set([
      ...(operation.refuses ?? []),
      ...(access === 'anyone' ? [] : GUARDED),
      ...(isChange && access !== 'anyone' ? (['csrf'] as const) : []),
      ...(access === 'admin' ? (['read_only'] as const) : []),
      ...(path.includes('{') ? (['invalid_path'] as const) : []),
      // whatever a client sends with it is read
      ...(isChange ? CONTENT : []),
      ...ANY,
    ]),
  ]
}

const GUARDED: readonly Code[] = ['unauthorized', 'too_many_attempts', 'unavailable']
/** At least the query can be wrong. */
const ANY: readonly Code[] = ['validation_failed', 'internal']
