/** Reads one id per line. Removes spaces around ids, blank lines and repetitions. */
export const userIdsIn = (text: string): string[] => [
  ...new Set(text.split(/\r?\n/).flatMap((line) => line.trim() || [])),
]

/** Pages without https have no `crypto.randomUUID`. */
export const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
