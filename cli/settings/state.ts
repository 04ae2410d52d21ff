import { z } from 'zod'
import type { Facts } from '../../settings/resources/resource.ts'
import {
  type Computation,
  type Destination,
  type Source,
  storedComputation,
  storedDestination,
  storedSource,
} from '../../settings/settings.ts'
import { type Ask, asked } from '../api/ask.ts'
import type { Collection } from './form.ts'

/** The settings that there are, as the API shows them: with masks in place of secrets. */
export type State = {
  sources: Map<string, Source>
  destinations: Map<string, Destination>
  audiences: Map<string, Computation>
  traits: Map<string, Computation>
}

/** @throws CliFault */
export async function readState(ask: Ask): Promise<State> {
  const [sources, destinations, audiences, traits] = await Promise.all([
    all(ask, 'sources', storedSource),
    all(ask, 'destinations', storedDestination),
    all(ask, 'audiences', storedComputation),
    all(ask, 'traits', storedComputation),
  ])
  return { sources, destinations, audiences, traits }
}

async function all<T extends { id: string }>(
  ask: Ask,
  collection: Collection,
  shape: z.ZodType<T>,
): Promise<Map<string, T>> {
  const pageShape = z.object({ items: z.array(shape), next: z.string().nullable() })
  const records = new Map<string, T>()
  let cursor: string | undefined
  do {
    const page = await asked(ask, { path: collection, query: { limit: 1_000, cursor } }, pageShape)
    for (const record of page.items) records.set(record.id, record)
    cursor = page.next ?? undefined
  } while (cursor !== undefined)
  return records
}

export const copyOf = (state: State): State => ({
  sources: new Map(state.sources),
  destinations: new Map(state.destinations),
  audiences: new Map(state.audiences),
  traits: new Map(state.traits),
})

/** As the API's own decisions want them. */
export function factsOf(state: State): Facts {
  const sourceByWriteKey = (key: string) =>
    [...state.sources.values()].find(({ writeKey }) => writeKey === key)
  return { ...state, suppressions: new Map(), unreadable: new Map(), sourceByWriteKey }
}
