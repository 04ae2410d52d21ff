import { expect, test } from 'vitest'
import { sizeOf } from '../../kafka/produce/queue/buffer-memory.ts'

test('the size of a record counts headers as they are sent: bytes that are not UTF-8, and each of several values', () => {
  const headers = { raw: Buffer.alloc(1_000, 0xff), é: 'é', many: [Buffer.from([0xff]), 'ab'] }
  expect(sizeOf({ key: 'k', value: null, headers })).toBe(1 + (3 + 1_000) + (2 + 2) + (4 + 1) + (4 + 2))
})
