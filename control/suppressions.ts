import type { z } from 'zod'
import { EVERY_SOURCE, type Suppression, suppressionShape } from '../schemas/settings.ts'
import type { Fault } from './answer.ts'
import { hashedId } from './id.ts'
import type { Facts, Noun } from './noun.ts'
import { unknownSource } from './unknown-source.ts'

/** There is nothing in one to change: its id is made of all that it says. */
export const suppressions: Noun<z.infer<typeof suppressionShape>, Suppression> = {
  kind: 'suppression',
  path: 'suppressions',
  create: suppressionShape,
  all: (facts) => facts.suppressions,
  newId: ({ sourceId, userId }) => hashedId([sourceId, userId]),
  build: (given, { stamp }) => ({ ...given, ...stamp }),

  faults({ sourceId, userId }, { facts }) {
    const unknown = sourceId === EVERY_SOURCE ? [] : unknownSource(sourceId, { facts, path: ['sourceId'] })
    return [...unknown, ...alreadyThere(sourceId, userId, facts)]
  },

  uses: () => [],
}

function alreadyThere(sourceId: unknown, userId: unknown, { suppressions }: Facts): Fault[] {
  if (typeof sourceId !== 'string' || typeof userId !== 'string') return []
  const id = hashedId([sourceId, userId])
  if (!suppressions.has(id)) return []
  const message = `this user is suppressed already: suppression ${id} says so`
  return [{ pointer: '/userId', code: 'already_suppressed', message }]
}
