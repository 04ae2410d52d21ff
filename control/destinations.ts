import type { z } from 'zod'
import { type Destination, destinationShape } from '../schemas/settings.ts'
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
  create: destinationShape.extend(createFields),
  replace: destinationShape.extend(replaceFields),
  all: (facts) => facts.destinations,
  urls: urlsOf,
  newId: namedId,
  build: (given, { stamp, old }) => ({ ...given, ...rotated(given, old), ...stamp }),

  faults(body, { facts, unreachable, old, now }) {
    const sourceIds: unknown[] = Array.isArray(body.sourceIds) ? body.sourceIds : []
    const unknown = sourceIds.flatMap((id, index) => unknownSource(id, { facts, path: ['sourceIds', index] }))
    return [...unknown, ...forbiddenUrls(body, unreachable), ...destinationFaults(body, { old, now })]
  },

  uses: () => [],
}
