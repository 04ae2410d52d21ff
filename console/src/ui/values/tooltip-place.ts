/** In CSS pixels. `left`: of the center. */
export type TooltipPosition = { left: number; maxWidth: number; top?: number; bottom?: number }

const MAX_WIDTH = 320
const GAP = 6

type Box = { top: number; bottom: number; left: number; width: number }

/** Above the element, or below it near the top of the screen; always within the screen. */
export function placeBeside(
  { top, bottom, left, width }: Box,
  screen: { innerWidth: number; innerHeight: number },
): TooltipPosition {
  const half = Math.min(MAX_WIDTH, screen.innerWidth - 2 * GAP) / 2
  const center = Math.min(Math.max(left + width / 2, half + GAP), screen.innerWidth - half - GAP)
  const isAbove = top > screen.innerHeight / 3
  return {
    left: center,
    maxWidth: 2 * half,
    ...(isAbove ? { bottom: screen.innerHeight - top + GAP } : { top: bottom + GAP }),
  }
}
