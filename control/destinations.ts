import type { z } from 'zod'
import { type Destination, destinationShape } from '../schemas/settings.ts'
import { createFields, type Given, type Noun, replaceFields } from './noun.ts'
import { pointer } from './pointer.ts'

type GivenDestination = z.infer<typeof destinationShape> & Given

export const destinations: Noun<GivenDestination, Destination> = {
  kind: 'destination',
  path: 'destinations',
  create: destinationShape.extend(createFields),
  replace: destinationShape.extend(replaceFields),
  all: (facts) => facts.destinations,
  build: (given, { stamp }) => ({ ...given, ...stamp }),

  // the SSRF guard's verdict on each URL belongs here too: names are looked up before the decision, what was found is a fact
  faults({ sourceIds }, { facts }) {
    if (!Array.isArray(sourceIds)) return []
    return sourceIds.flatMap((id: unknown, index) => {
      if (typeof id !== 'string' || facts.sources.has(id)) return []
      const message = `there is no source ${JSON.stringify(id)}: create it first, or leave it out`
      return [{ pointer: pointer(['sourceIds', index]), code: 'unknown_source', message }]
    })
  },

  uses: () => [],
}
