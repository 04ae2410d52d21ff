import { z } from 'zod'
import { userIdShape } from '../../schemas/settings.ts'
import type { Fault } from '../http/answer.ts'
import { faultsOf } from '../http/faults.ts'
import { pointer } from '../http/pointer.ts'
import type { Change } from './diff.ts'

const users = z
  .array(userIdShape)
  .max(10_000, 'at most 10,000 users: send several requests, or all members with PUT')
  .default([])
export const patchShape = z
  .strictObject({
    add: users.describe('Ids of users who join.'),
    remove: users.describe('Ids of users who leave. Nobody may be in both.'),
  })
  .meta({ id: 'MembersPatch' })

/** A change of an audience without a snapshot: who joins, and who leaves; or all that is wrong with it. */
export function readPatch(body: unknown): { changes: Change[] } | { faults: Fault[] } {
  const parsed = patchShape.safeParse(body, { reportInput: true })
  if (!parsed.success) return { faults: faultsOf(parsed.error) }
  const { add, remove } = parsed.data
  const added = new Set(add)
  const faults = remove.flatMap((userId, index): Fault[] => {
    if (!added.has(userId)) return []
    return [
      { pointer: pointer(['remove', index]), code: 'in_both', message: 'is in add as well: leave one out' },
    ]
  })
  if (faults.length > 0) return { faults }
  const changes = [
    ...add.map((userId) => ({ userId, value: 'true' })),
    ...remove.map((userId) => ({ userId, value: null })),
  ]
  return { changes }
}
