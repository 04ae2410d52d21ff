import type { Trouble } from '../receivers/endpoints-process.ts'
import type { Window } from '../receivers/tally.ts'
import type { Pipeline } from '../stack/pipeline.ts'
import { nowUs } from './clock.ts'
import { type Load, startLoad } from './process.ts'

const CONNECTIONS = 64
/** Enough time for the load generator to start. */
const START_US = 1e6

/** Calls at a fixed rate. All endpoints are healthy at first; then some turn bad until the last window ends. */
export type Scenario = Trouble & {
  name: string
  perSecond: number
  healthyMs: number
  /** Lengths of consecutive windows, from when endpoints turn bad. */
  windowsMs: readonly number[]
}

/** Starts a scenario's calls, and gives the endpoints its schedule. */
export async function startCalls(
  { endpoints, ingestUrl, writeKeys }: Pipeline,
  { bad, perSecond, healthyMs, windowsMs }: Scenario,
): Promise<{ load: Load; windows: readonly Window[] }> {
  const fromUs = nowUs() + START_US
  const windows = following(fromUs + healthyMs * 1_000, windowsMs)
  const seconds = ((windows.at(-1)?.toUs ?? fromUs) - fromUs) / 1e6
  const calls = Math.ceil(seconds * perSecond)
  await endpoints.expect({ fromUs, perSecond, calls, endpoints: endpoints.urls.length, bad, windows })
  const load = startLoad({
    url: ingestUrl,
    path: '/v1/track',
    batch: 1,
    connections: CONNECTIONS,
    writeKeys,
    perSecond,
    fromUs,
  })
  return { load, windows }
}

/** Consecutive windows. */
function following(startUs: number, lengthsMs: readonly number[]): Window[] {
  let end = startUs
  return lengthsMs.map((length) => {
    const fromUs = end
    end += length * 1_000
    return { fromUs, toUs: end }
  })
}
