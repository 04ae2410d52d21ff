const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/**
 * Faults of a record, not of the moment: one such record fails its whole request. INVALID_TIMESTAMP is none: a record's time is that of
 * sending, so it is this clock that is too far from the broker's (by an hour unless the topic says otherwise), until it is set right.
 */
const RECORD_FAULTS = new Set([...TOO_LARGE, 'INVALID_RECORD', 'CORRUPT_MESSAGE'])

/** Whether the broker refuses what was sent, and would refuse it again. */
export const isRecordFault = (error: unknown): boolean => isOf(RECORD_FAULTS, error)

/** Whether that is for its size: more than its topic's `max.message.bytes`. */
export const isTooLarge = (error: unknown): boolean => isOf(TOO_LARGE, error)

/** Whether it is for the time that this machine's clock has given it. */
export const isOfClock = (error: unknown): boolean => isOf(new Set(['INVALID_TIMESTAMP']), error)

function isOf(types: ReadonlySet<string>, error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('type' in cause && typeof cause.type === 'string' && types.has(cause.type)) return true
  return false
}
