import type { z } from 'zod'
import { type Destination, destinationShape, storedDestination } from '../../schemas/settings.ts'
import { destinationFaults } from './destination-rules.ts'
import { forbiddenUrls, urlsOf } from './forbidden-urls.ts'
import { namedId } from './id.ts'
import { createFields, type Replaceable, replaceFields } from './noun.ts'
import { rotated } from './rotation.ts'
import { unknownSource } from './unknown-source.ts'

type GivenDestination = z.infer<typeof destinationShape> & { id?: string | undefined }

export const destinations: Replaceable<GivenDestination, Destination> = {
  kind: 'destination',
  path: 'destinations',
  create: destinationShape.extend(createFields).meta({ id: 'NewDestination' }),
  replace: destinationShape.extend(replaceFields).meta({ id: 'DestinationReplacement' }),
  shown: storedDestination.meta({ id: 'Destination' }),
  all: (facts) => facts.destinations,
  urls: urlsOf,
  newId: namedId,
  build: (given, { stamp, old }) => ({ ...given, ...rotated(given, old), ...stamp }),

  conflicts: { create: ['id_taken'], replace: [], remove: [] },

  faults(body, { facts, unreachable, old, now }) {
    const sourceIds: unknown[] = Array.isArray(body.sourceIds) ? body.sourceIds : []
    const unknown = sourceIds.flatMap((id, index) => unknownSource(id, { facts, path: ['sourceIds', index] }))
    return [...unknown, ...forbiddenUrls(body, unreachable), ...destinationFaults(body, { old, now })]
  },

  uses: () => [],
}
