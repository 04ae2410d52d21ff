import { expect, test } from 'vitest'
import { createTokenBucket } from '../../process/token-bucket.ts'

test('a token that is taken without being there is a debt: what was allowed together but begins later still counts', () => {
  const bucket = createTokenBucket({ perSecond: 10, burst: 1 })
  expect(bucket.allows(0)).toBe(true)
  for (let begun = 0; begun < 3; begun++) bucket.take(0)

  expect(bucket.allows(100)).toBe(false)
  expect(bucket.allows(299)).toBe(false)
  expect(bucket.allows(300)).toBe(true)
})

test('a full bucket allows its burst at once, then one token after another', () => {
  const bucket = createTokenBucket({ perSecond: 20, burst: 2 })
  const begun = [0, 0, 0, 49, 50, 99, 100].filter((now) => {
    const isAllowed = bucket.allows(now)
    if (isAllowed) bucket.take(now)
    return isAllowed
  })
  expect(begun).toEqual([0, 0, 50, 100])
})
