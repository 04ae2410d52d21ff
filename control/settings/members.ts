/** A JSON object of which no more is known yet. */
export type Members = Record<string, unknown>

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
