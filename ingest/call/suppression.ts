import type { Users } from '../../schemas/suppressed.ts'
import type { CallType } from './accept.ts'
import { readId } from './ids.ts'
import { isObject } from './json.ts'

/**
 * Whether a call is about a suppressed user: by its `userId`, or by the `previousId` of an alias, which would carry the user on
 * under another id. Nothing else of the call counts, not even whether it is valid: a rejected call would be kept.
 * @param type that of the route; the calls of a batch carry their own.
 */
export function isSuppressed(call: unknown, users: Users, type?: CallType): boolean {
  if (!isObject(call)) return false
  return isOneOf(users, call.userId) || ((type ?? call.type) === 'alias' && isOneOf(users, call.previousId))
}

/** Ids are read as they would be stored: the number 42 is the user `42`. */
function isOneOf(users: Users, value: unknown): boolean {
  const id = readId(value)
  return typeof id === 'string' && users.has(id)
}
