import { array, assert, integer, nat, property, record, uint8Array } from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_ENTRIES, pack, unpack } from '../../../router/duplicates/seen-topic.ts'

const half = nat(2 ** 32 - 1)
const entries = array(
  record({ high: half, low: half, offset: nat(2 ** 52), time: integer({ min: -(2 ** 51), max: 2 ** 51 }) }),
  { maxLength: MAX_ENTRIES, size: 'max' },
)

test('packed entries are unpacked in order', () => {
  assert(property(entries, (given) => void expect(unpack(pack(given))).toEqual(given)))
})

test('entries of a full record take ten or eleven bytes each', () => {
  const neighbours = Array.from({ length: MAX_ENTRIES }, (_, index) => ({
    high: 2 ** 32 - 1,
    low: 2 ** 32 - 1,
    offset: 5_000_000_000 + index,
    time: 1_790_000_000_000 + index * 100,
  }))
  expect(pack(neighbours).length).toBeLessThanOrEqual(MAX_ENTRIES * 11 + 16)
})

test('arbitrary bytes are refused or read, without an error or an endless loop', () => {
  assert(
    property(uint8Array({ maxLength: 200 }), (bytes) => {
      const read = unpack(Buffer.from([1, ...bytes]))
      return read === undefined || read.every(({ offset }) => Number.isSafeInteger(offset) && offset >= 0)
    }),
  )
  expect(unpack(null)).toBeUndefined()
  expect(unpack(Buffer.from('{"json":true}'))).toBeUndefined()
  const whole = pack([{ high: 1, low: 2, offset: 3, time: 4 }])
  for (let length = 2; length < whole.length; length++)
    expect(unpack(whole.subarray(0, length))).toBeUndefined()
})
