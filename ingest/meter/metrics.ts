import { Histogram, type Registry } from 'prom-client'
import type { RouteType } from '../call/sender.ts'
import { createDoorMeter, type DoorMeter } from './door.ts'
import { gauge } from './gauge.ts'
import { createTally, type Tally } from './tally.ts'

/** What ingest tells operators. On the way of a call it only adds up numbers; labels are made when Prometheus asks. */
export type Meter = Tally &
  DoorMeter & {
    /** A request has come in. */
    began(): void
    /** It has been answered, after `seconds`. */
    ended(type: RouteType, seconds: number): void
  }

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createMeter(register: Registry): Meter {
  const [calls, batches] = requestTimes(register)
  let inFlight = 0
  gauge(register, ['sluice_ingest_requests_in_flight', 'Requests that are not answered yet.'], () => inFlight)
  return {
    ...createTally(register),
    ...createDoorMeter(register),
    began() {
      inFlight += 1
    },
    ended(type, seconds) {
      inFlight -= 1
      if (type === 'batch') batches.observe(seconds)
      else calls.observe(seconds)
    },
  }
}

function requestTimes(register: Registry) {
  const request = new Histogram({
    name: 'sluice_ingest_request_seconds',
    help: 'From a request read in full to its answer.',
    labelNames: ['route'],
    buckets: SECONDS,
    registers: [register],
  })
  return [request.labels('call'), request.labels('batch')] as const
}
