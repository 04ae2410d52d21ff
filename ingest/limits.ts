/** Bytes of UTF-8 JSON (seed: "Limits"; design: ingest, "Body"). Exactly at a limit is within it. */
export const CALL_BYTES = 32 * 1024
export const BATCH_BYTES = 500 * 1024
export const BATCH_CALLS = 2_500

/** Levels of objects and arrays in a call, its own among them. */
export const CALL_LEVELS = 64

/**
 * What a batch's own context and integrations may come to in all, as each call gets a copy: without it a body of 500 KB
 * could become 80 MB. 2,500 calls with 3 KB of context each are within it.
 */
export const SHARED_BYTES = 8 * 1024 * 1024

/** Characters of a rejected call that are kept; at most three bytes each, so that the record stays below Kafka's 1 MB. */
export const REJECTED_CHARS = 256 * 1024
