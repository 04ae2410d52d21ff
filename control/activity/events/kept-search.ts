import { createSlices } from '../../../process/slices.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Facts } from '../../../settings/resources/resource.ts'
import { createLimit } from '../../api/concurrency.ts'
import { type Kept, keptFrom } from './delivery-status.ts'

/**
 * Runs the rules of destinations, by event and destination id. `too_many`: too many searches are running.
 * `too_long`: it took more than 7 s.
 */
export type KeptSearch = (
  events: readonly Event[],
  destinations: Pick<Facts['destinations'], 'get'>,
  idsOf: (event: Event) => readonly string[],
) => Promise<Map<Event, Map<string, Kept>> | 'too_many' | 'too_long'>

/** Each may hold a hundred events of 32 KB. */
const MAX_AT_ONCE = 10
/** Clients wait for 10 s (api/concurrency.ts), and the search before takes up to 3 s. */
const MAX_MS = 7_000

/** All searches share the slices. */
export function createKeptSearch(clock = () => performance.now(), slices = createSlices(clock)): KeptSearch {
  const limit = createLimit(MAX_AT_ONCE)

  async function run(...[events, destinations, idsOf]: Parameters<KeptSearch>): ReturnType<KeptSearch> {
    const endsAt = clock() + MAX_MS
    const found = new Map<Event, Map<string, Kept>>()
    for (const event of events) {
      const kept = new Map<string, Kept>()
      found.set(event, kept)
      for (const id of idsOf(event)) {
        if (slices.isSpent()) await slices.next()
        if (clock() > endsAt) return 'too_long'
        kept.set(id, keptFrom(event, destinations.get(id)))
      }
    }
    return found
  }

  return async (...asked) => limit(() => run(...asked)) ?? 'too_many'
}
