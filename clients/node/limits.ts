/** The service's limits, inclusive, in bytes of UTF-8 JSON and in calls. */
export const CALL_BYTES = 32 * 1024
export const BATCH_BYTES = 500 * 1024
export const BATCH_CALLS = 2_500

/** Levels of objects and arrays in a call, including the call itself. */
export const CALL_LEVELS = 64

/** The service replaces longer ones. */
export const MESSAGE_ID_CHARS = 100
