import { expect, test } from 'vitest'
import { uuids } from '../../../clients/node/uuid.ts'

const many = (next: () => string, count = 20_000) => Array.from({ length: count }, next)

const isAscending = (ids: readonly string[]) =>
  ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ''))

test('an id is a UUID of version 7 that holds its time', () => {
  const id = uuids(() => 0x0123456789ab)()
  expect(id).toMatch(/^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('ids ascend and none comes twice, more than fit into a millisecond too', () => {
  const ids = many(uuids(() => 1_767_323_045_678))
  expect(isAscending(ids)).toBe(true)
  expect(new Set(ids).size).toBe(ids.length)
})

test('ids ascend while the clock goes on, stands and goes back', () => {
  let time = 1_767_323_045_678
  const steps = [1, 0, 0, -5, 3, 0, -1000, 2000]
  const next = uuids(() => {
    time += steps[time % steps.length] ?? 0
    return time
  })
  expect(isAscending(many(next))).toBe(true)
})

test('those of two processes differ although time and counter are the same', () => {
  const [one, two] = [uuids(() => 5), uuids(() => 5)]
  expect(many(one, 1_000)).not.toContain(two())
})
