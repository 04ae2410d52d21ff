import { begunLate, type Tail } from '../../kafka/tail.ts'
import { problem } from '../http/answer.ts'
import { patiently } from '../patience.ts'
import type { Newest } from './newest.ts'
import type { Place } from './place.ts'

/** What is read from a topic before anything can be said of it. `loaded` never rejects. */
export type Loading = { loaded: Promise<void>; isLoaded(): boolean }

/** What is read as it comes. `isFresh`: Kafka has answered of late; else nobody knows what came since. */
export type Followed = Loading & { isFresh(): boolean }

/** When Kafka has not answered for so long, nothing is told any more. */
export const STALE_MS = 30_000

/** @returns how far the reading of a tail into `newest` is; `newest` is told what there was before. */
export function followed(tail: Tail, newest: Pick<Newest<Place>, 'begunLate'>): Followed {
  let isLoaded = false
  const loaded = tail.caughtUp.then(() => {
    newest.begunLate(begunLate(tail))
    isLoaded = true
  })
  const isFresh = () => performance.now() - tail.fetchedAt() < STALE_MS
  return { loaded, isLoaded: () => isLoaded, isFresh }
}

/** Half of what is there would be taken for all of it. */
export const loading = problem(
  { code: 'unavailable', message: 'This process still reads what there is: try again in a moment' },
  { 'retry-after': '1' },
)

/** For what only reads: nothing was changed, so it can be asked again at once. */
export const unreachable = problem(
  { code: 'unavailable', message: 'Kafka does not answer: try again in a moment' },
  { 'retry-after': '5' },
)

/** @returns whether it is loaded, after a wait if need be. */
export async function isLoadedSoon({ loaded, isLoaded }: Loading, patienceMs?: number): Promise<boolean> {
  if (!isLoaded()) await patiently(loaded, patienceMs).catch(() => undefined)
  return isLoaded()
}
