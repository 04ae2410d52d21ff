import { z } from 'zod'
import { pointer } from '../../../process/json-pointer.ts'
import { type Fault, faultsOf } from '../../../settings/faults.ts'
import { userIdShape } from '../../../settings/settings.ts'
import type { Change } from './comparison.ts'

const users = z
  .array(z.string().trim().pipe(userIdShape))
  .max(10_000, 'at most 10,000 users: send several requests, or all members with PUT')
  .default([])
export const patchShape = z
  .strictObject({
    add: users.describe('Ids of users who join.'),
    remove: users.describe('Ids of users who leave. No user may be in both lists.'),
  })
  .meta({ id: 'MembersPatch' })

/** Parses who joins and who leaves an audience. @returns all faults if there are any. */
export function readPatch(body: unknown): { changes: Change[] } | { faults: Fault[] } {
  const parsed = patchShape.safeParse(body, { reportInput: true })
  if (!parsed.success) return { faults: faultsOf(parsed.error, patchShape) }
  const { add, remove } = parsed.data
  const added = new Set(add)
  const faults = remove.flatMap((userId, index): Fault[] => {
    if (!added.has(userId)) return []
    return [
      {
        pointer: pointer(['remove', index]),
        code: 'in_both',
        message: 'is in add as well: remove it from one of them',
      },
    ]
  })
  if (faults.length > 0) return { faults }
  const changes = [
    ...add.map((userId) => ({ userId, value: 'true' })),
    ...remove.map((userId) => ({ userId, value: null })),
  ]
  return { changes }
}
