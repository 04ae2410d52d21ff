import { begunLate, type Tail } from '../../kafka/tables/tail.ts'
import type { Codec } from '../../schemas/codec.ts'
import { withTimeout } from '../api/concurrency.ts'
import { problem } from '../api/response.ts'
import type { Place, RecentRecords } from './recent-records.ts'

/** What is read from a topic before anything can be said of it. `loaded` never rejects. */
export type Loading = { loaded: Promise<void>; isLoaded(): boolean }

/** What is read as it comes. `isFresh`: Kafka has answered of late; else nobody knows what came since. */
export type Followed = Loading & { isFresh(): boolean }

/** When Kafka has not answered for so long, nothing is told any more. */
export const STALE_MS = 30_000

/** @returns how far the reading of a tail into `recent` is; `recent` is told what there was before. */
export function followed(tail: Tail, recent: Pick<RecentRecords<Place>, 'begunLate'>): Followed {
  let isLoaded = false
  const loaded = tail.caughtUp.then(() => {
    recent.begunLate(begunLate(tail))
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
export async function isLoadedSoon({ loaded, isLoaded }: Loading, timeoutMs?: number): Promise<boolean> {
  if (!isLoaded()) await withTimeout(loaded, timeoutMs).catch(() => undefined)
  return isLoaded()
}

/** Why a record is passed over. */
export const UNREADABLE = ['undecodable', 'unknown_schema', 'registry_unreachable'] as const
export type Unreadable = (typeof UNREADABLE)[number]

/** Hands over what a record's value says: at once, or when the registry has told its schema. */
export type Decode<T> = (value: Buffer | null, onValue: (value: T) => void) => void

/** Each holds its fetch until the registry has answered. */
const MOST_WAITING = 1_000

/** For those who only look on: what cannot be read is passed over, and stops nobody. */
export function decodeOrSkip<T>(
  codec: Pick<Codec<T>, 'decode'>,
  onUnreadable: (reason: Unreadable) => void,
): Decode<T> {
  let waiting = 0
  return (value, onValue) => {
    if (waiting >= MOST_WAITING) return onUnreadable('registry_unreachable')
    const decoding = codec.decode(value)
    if (!(decoding instanceof Promise)) return take(decoding)
    waiting += 1
    void decoding.then(take).finally(() => {
      waiting -= 1
    })

    function take(decoded: Awaited<typeof decoding>): void {
      if (decoded.ok) onValue(decoded.value)
      else onUnreadable(decoded.reason)
    }
  }
}
