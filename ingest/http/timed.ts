import type { Meter } from '../meter/metrics.ts'
import type { Take } from '../take.ts'

/** `take`, with what it takes: requests under way, and seconds. */
export function timed(take: Take, meter: Pick<Meter, 'began' | 'ended'>): Take {
  // no async function, which would hold the request's body for as long as it waits
  return (received, ip, trace) => {
    const { type } = received
    const start = performance.now()
    const ended = () => meter.ended(type, (performance.now() - start) / 1000)
    meter.began()
    try {
      return take(received, ip, trace).finally(ended)
    } catch (error) {
      ended()
      throw error
    }
  }
}
