/** Rates a second: the highest that held and the lowest that did not, so far. */
export type Found = { held: number; failed: number | undefined }

const FIRST = 1_000
const STEP = 250

/** Twice the rate until one fails, then the middle, to 250 a second. @returns the next rate to try; undefined when it is found. */
export function nextRate({ held, failed }: Found): number | undefined {
  if (failed === undefined) return held === 0 ? FIRST : held * 2
  const middle = Math.round((held + failed) / 2 / STEP) * STEP
  return middle < failed ? middle : undefined
}

/** One more rate was tried. */
export const afterTry = ({ held, failed }: Found, rate: number, hasHeld: boolean): Found =>
  hasHeld ? { held: Math.max(held, rate), failed } : { held, failed: Math.min(failed ?? rate, rate) }
