import type { Meter } from '../meter/metrics.ts'
import type { Take } from '../take.ts'

/** `take`, with what it takes: requests under way, and seconds. */
export function timed(take: Take, meter: Pick<Meter, 'began' | 'ended'>): Take {
  return async (received, ip) => {
    const start = performance.now()
    meter.began()
    try {
      return await take(received, ip)
    } finally {
      meter.ended(received.type, (performance.now() - start) / 1000)
    }
  }
}
