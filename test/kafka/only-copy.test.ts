import { expect, test } from 'vitest'
import { onlyCopy } from '../../kafka/admin/topics.ts'

test.each([
  { brokers: 1, replication: 1, isTold: false },
  { brokers: 2, replication: 1, isTold: false },
  { brokers: 3, replication: 1, isTold: true },
  { brokers: 5, replication: 1, isTold: true },
  { brokers: 3, replication: 2, isTold: false },
  { brokers: 3, replication: 3, isTold: false },
])('one copy where three brokers have room for more is told of: %o', ({ isTold, ...cluster }) => {
  expect(onlyCopy(cluster) !== undefined).toBe(isTold)
})
