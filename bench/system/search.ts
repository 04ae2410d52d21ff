/** The highest rate that held and the lowest that did not, per second. */
export type Found = { held: number; failed: number | undefined }

const FIRST = 1_000
const STEP = 250

/** Doubles the rate until one fails, then bisects to 250 a second. Undefined when done. */
export function nextRate({ held, failed }: Found): number | undefined {
  if (failed === undefined) return held === 0 ? FIRST : held * 2
  const middle = Math.round((held + failed) / 2 / STEP) * STEP
  return middle < failed ? middle : undefined
}

export const afterTry = ({ held, failed }: Found, rate: number, hasHeld: boolean): Found =>
  hasHeld ? { held: Math.max(held, rate), failed } : { held, failed: Math.min(failed ?? rate, rate) }
