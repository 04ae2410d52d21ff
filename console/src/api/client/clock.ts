/** What to add to the browser's clock, in ms: it may be wrong, and the server compares times with its own. */
let correctionMs = 0

/** @param date the answer's `Date`. @param now the browser's time, in ms since 1970. */
export function followServer(date: string | null, now: number): void {
  const time = Date.parse(date ?? '')
  if (!Number.isNaN(time)) correctionMs = time - now
}

/** For times that are sent to the server. In ms since 1970. */
export const serverNow = (now = Date.now()): number => now + correctionMs

/** Responses give their time in whole seconds, so a smaller difference means nothing. */
const MIN_CORRECTION_MS = 2_000

/** For times that are shown or compared with the server's. In ms since 1970. */
export const shownNow = (now = Date.now()): number =>
  Math.abs(correctionMs) < MIN_CORRECTION_MS ? now : serverNow(now)
