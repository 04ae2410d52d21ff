import type { z } from 'zod'
import { type Destination, destinationShape } from '../schemas/settings.ts'
import { namedId } from './id.ts'
import { createFields, type Replaceable, replaceFields } from './noun.ts'
import { unknownSource } from './unknown-source.ts'

type GivenDestination = z.infer<typeof destinationShape> & { id?: string | undefined }

export const destinations: Replaceable<GivenDestination, Destination> = {
  kind: 'destination',
  path: 'destinations',
  create: destinationShape.extend(createFields),
  replace: destinationShape.extend(replaceFields),
  all: (facts) => facts.destinations,
  newId: namedId,
  build: (given, { stamp }) => ({ ...given, ...stamp }),

  // the SSRF guard's verdict on each URL belongs here too: names are looked up before the decision, what was found is a fact
  faults({ sourceIds }, { facts }) {
    if (!Array.isArray(sourceIds)) return []
    return sourceIds.flatMap((id: unknown, index) => unknownSource(id, { facts, path: ['sourceIds', index] }))
  },

  uses: () => [],
}
