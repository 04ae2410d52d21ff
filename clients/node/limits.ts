/** Bytes of UTF-8 JSON, and calls, that the service takes. Exactly at a limit is within it. */
export const CALL_BYTES = 32 * 1024
export const BATCH_BYTES = 500 * 1024
export const BATCH_CALLS = 2_500

/** Levels of objects and arrays in a call, its own among them. */
export const CALL_LEVELS = 64

/** Longer ones the service replaces by its own. */
export const MESSAGE_ID_CHARS = 100
