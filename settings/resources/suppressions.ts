import type { z } from 'zod'
import type { Fault } from '../faults.ts'
import { EVERY_SOURCE, type Suppression, storedSuppression, suppressionShape } from '../settings.ts'
import { suppressionId } from '../suppression-list.ts'
import { type Facts, type Resource, unknownSource } from './resource.ts'

/** Cannot be replaced: the id is made from all of its content. */
export const suppressions: Resource<z.infer<typeof suppressionShape>, Suppression> = {
  kind: 'suppression',
  path: 'suppressions',
  create: suppressionShape.meta({ id: 'NewSuppression' }),
  responseShape: storedSuppression.meta({ id: 'Suppression' }),
  all: (facts) => facts.suppressions,
  newId: suppressionId,
  build: (given, { stamp }) => ({ ...given, ...stamp }),

  conflicts: { create: ['already_suppressed'], replace: [], remove: [] },

  faults({ sourceId, userId }, { facts }) {
    const unknown = sourceId === EVERY_SOURCE ? [] : unknownSource(sourceId, { facts, path: ['sourceId'] })
    return [...unknown, ...duplicateFaults(sourceId, userId, facts)]
  },

  uses: () => [],
}

function duplicateFaults(sourceId: unknown, userId: unknown, { suppressions }: Facts): Fault[] {
  if (typeof sourceId !== 'string' || typeof userId !== 'string') return []
  const id = suppressionId({ sourceId, userId })
  if (!suppressions.has(id)) return []
  const message = `this user is already suppressed by suppression ${id}`
  return [{ pointer: '/userId', code: 'already_suppressed', message }]
}
