import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSemaphore } from '../../../control/api/concurrency.ts'
import type { Comparison } from '../../../control/tasks/audiences/comparison.ts'
import {
  countChanges,
  createInvalidLines,
  manyRemovalsMessage,
  removesMany,
} from '../../../control/tasks/audiences/preview.ts'
import { UploadFault } from '../../../control/tasks/audiences/upload-lines.ts'

const PARTITIONS = [0, 1, 2]
const of = (userId: string) => (userId.codePointAt(0) ?? 0) % PARTITIONS.length

/** @param named partitions that the upload names users of */
function comparisonOf(
  current: ReadonlyMap<string, string>,
  listed: ReadonlyMap<string, string | null>,
  named: readonly number[],
): Comparison {
  const part = <T>(all: ReadonlyMap<string, T>, partition: number) =>
    new Map([...all].filter(([userId]) => of(userId) === partition))
  return {
    partitions: named,
    unchanged: PARTITIONS.filter((partition) => !named.includes(partition)),
    read: async (partition) => ({
      current: part(current, partition),
      listed: part(listed, partition),
      lines: 0,
      leftovers: new Set(),
    }),
  }
}

const user = fc.constantFrom(...'abcdefgh')
const before = fc.dictionary(user, fc.constantFrom('1', '2'))
const after = fc.dictionary(user, fc.constantFrom('1', '2', null))

test.each(['removed', 'stay'] as const)(
  'a preview counts each user once, and what the sync would send; unlisted users: %s',
  async (others) => {
    await fc.assert(
      fc.asyncProperty(before, after, fc.uniqueArray(user), async (old, next, quiet) => {
        const [current, listed] = [new Map(Object.entries(old)), new Map(Object.entries(next))]
        const named = others === 'stay' ? [...new Set([...listed.keys()].map(of))] : PARTITIONS
        const suppressed = new Set(quiet)
        const semaphore = createSemaphore(1)
        const counts = await countChanges(comparisonOf(current, listed, named), {
          others,
          suppressed,
          semaphore,
        })

        const result = new Map([...(others === 'removed' ? [] : current), ...listed])
        const everyone = new Set([...current.keys(), ...listed.keys()])
        const changed = [...everyone].filter((id) => (current.get(id) ?? null) !== (result.get(id) ?? null))
        const sent = changed.filter((id) => !suppressed.has(id))
        const removed = sent.filter((id) => (result.get(id) ?? null) === null)
        expect(counts).toEqual({
          changed: sent.length - removed.length,
          removed: removed.length,
          suppressed: changed.length - sent.length,
          unchanged: [...listed.keys()].filter((id) => !changed.includes(id)).length,
          current: current.size,
        })
      }),
    )
  },
)

test.each([
  [0, 0, false],
  [100, 1_000, false],
  [101, 1_000, true],
  [1, 10, false],
  [1, 9, true],
])('%d of %d removed are many: %s', (removed, current, isMany) => {
  expect(removesMany({ removed, current })).toBe(isMany)
})

test('the refusal names the number and the parameter', () => {
  expect(manyRemovalsMessage({ kind: 'audience' }, { removed: 998, current: 1_000 })).toMatch(
    /998 of 1,000 members.*\?allowRemovals=true/,
  )
})

test('all invalid lines are counted, and the first are listed', () => {
  const { onInvalid, count, first } = createInvalidLines()
  for (let line = 1; line <= 1_000; line++) onInvalid(new UploadFault('invalid_line', line, 'is not JSON'))
  expect(count()).toBe(1_000)
  expect(first).toHaveLength(20)
  expect(first[0]).toEqual({ line: 1, code: 'invalid_line', message: 'is not JSON' })
})
