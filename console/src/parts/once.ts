/** So long after it the page is not loaded anew by itself again: what is wrong stays wrong. */
const ONCE_MS = 60_000

/** @param last when it was done before, in ms since 1970. */
export const mayLoadAnew = (last: number, now: number): boolean => now - last > ONCE_MS
