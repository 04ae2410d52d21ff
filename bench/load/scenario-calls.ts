import type { Trouble } from '../receivers/endpoints-process.ts'
import type { Window } from '../receivers/tally.ts'
import type { Pipeline } from '../stack/pipeline.ts'
import { nowUs } from './clock.ts'
import { type Load, startLoad } from './process.ts'

const CONNECTIONS = 64
/** Until then the load generator has started. */
const START_US = 1e6

/** Calls at a rate that does not give way; first all endpoints are healthy, then some turn bad for as long as the windows last. */
export type Scenario = Trouble & {
  name: string
  perSecond: number
  healthyMs: number
  /** Lengths of the windows that follow each other from the turn on. */
  windowsMs: readonly number[]
}

/** Makes a scenario's calls, and tells its endpoints what to expect. */
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

/** Windows that begin where the last one ends. */
function following(startUs: number, lengthsMs: readonly number[]): Window[] {
  let end = startUs
  return lengthsMs.map((length) => {
    const fromUs = end
    end += length * 1_000
    return { fromUs, toUs: end }
  })
}
