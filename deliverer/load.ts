import { performance } from 'node:perf_hooks'

const SAMPLE_MS = 100
const BUSY = 0.9

export type Load = {
  /** Whether this process itself is what limits its speed: its event loop had next to no idle time of late. */
  isBusy(): boolean
  close(): void
}

export function watchLoad(): Load {
  let last = performance.eventLoopUtilization()
  let utilization = 0
  const sampling = setInterval(() => {
    const current = performance.eventLoopUtilization()
    utilization = performance.eventLoopUtilization(current, last).utilization
    last = current
  }, SAMPLE_MS).unref()

  return { isBusy: () => utilization > BUSY, close: () => clearInterval(sampling) }
}
