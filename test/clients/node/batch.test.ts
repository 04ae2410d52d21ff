import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batchSize, bodyOf } from '../../../clients/node/batch.ts'
import { LIBRARY } from '../../../clients/node/library.ts'

const sentAt = '2026-01-02T03:04:05.678Z'

test('a body is the calls, the time and the library, in this order', () => {
  expect(bodyOf([{ json: '{"a":1}' }, { json: '{"b":2}' }], sentAt)).toBe(
    `{"batch":[{"a":1},{"b":2}],"sentAt":"${sentAt}","context":{"library":{"name":"sluice-node","version":"${LIBRARY.version}"}}}`,
  )
})

test('a batch has as many calls as the service accepts, and not one more', () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 60, max: 32_768 }), fc.integer({ min: 60, max: 300 })), {
    minLength: 1,
    maxLength: 4_000,
    size: 'max',
  })
  const fits = (sizes: readonly number[]) =>
    sizes.length <= 2_500 &&
    Buffer.byteLength(
      bodyOf(
        sizes.map((bytes) => ({ json: 'x'.repeat(bytes) })),
        sentAt,
      ),
    ) <= 512_000
  fc.assert(
    fc.property(sizes, (sizes) => {
      const count = batchSize(
        sizes.map((bytes) => ({ bytes })),
        { flushAt: 20 },
      )
      expect(count).toBeGreaterThan(0)
      expect(fits(sizes.slice(0, count))).toBe(true)
      expect(count === sizes.length || !fits(sizes.slice(0, count + 1))).toBe(true)
    }),
    { numRuns: 40 },
  )
})
