import { test, vi } from 'vitest'

const HOUR = 3_600_000

/** Sets the wall clock of a test with fake timers. The monotonic clock is not affected. */
export const setClock = (byMs: number) => vi.setSystemTime(Date.now() + byMs)

/** Once for each direction. */
export const bySteps = test.for([
  ['forward', HOUR],
  ['back', -HOUR],
] as const)
