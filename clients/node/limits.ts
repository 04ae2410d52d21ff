/** The service's inclusive limits: bytes of UTF-8 JSON, and calls. */
export const CALL_BYTES = 32 * 1024
export const BATCH_BYTES = 500 * 1024
export const BATCH_CALLS = 2_500

/** Levels of objects and arrays, including the call itself. */
export const CALL_LEVELS = 64

/** The service replaces longer ones. */
export const MESSAGE_ID_CHARS = 100
