import type { JsonObject } from './json.ts'

export type Ids = {
  userId: string | null
  anonymousId: string | null
  groupId: string | null
  previousId: string | null
}

/** @returns the ids of a call, null where there is none, or undefined when one of them is no id. */
export function readIds(call: JsonObject): Ids | undefined {
  const userId = readId(call.userId)
  const anonymousId = readId(call.anonymousId)
  const groupId = readId(call.groupId)
  const previousId = readId(call.previousId)
  if (userId === undefined || anonymousId === undefined || groupId === undefined || previousId === undefined)
    return undefined
  return { userId, anonymousId, groupId, previousId }
}

/** @returns null where there is none, undefined for what is no id. Whole numbers above 2^53 - 1 have lost digits when they were parsed: taken, they would make one user of two. */
export function readId(value: unknown): string | null | undefined {
  if (value === undefined || value === null || value === '') return null
  if (typeof value === 'string') return value
  if (typeof value !== 'number' || Math.abs(value) > Number.MAX_SAFE_INTEGER) return undefined
  const text = String(value)
  return text.includes('e') ? undefined : text
}

const MESSAGE_ID_CHARS = 100

/** The client's own id of the call, when it is one that can be kept. */
export function readMessageId(value: unknown): string | undefined {
  return typeof value === 'string' && value.length > 0 && value.length <= MESSAGE_ID_CHARS ? value : undefined
}
