import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lz4Decompress, snappyDecompress } from '../../kafka/protocol/decompress.ts'
import made from './compressed.json' with { type: 'json' }

const MOST = 1024 * 1024

/** A step without literals repeats `count` bytes from `distance` before the end (modulo the length so far). */
type Step = { literals: Buffer } | { distance: number; count: number }

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array))
const lengths = fc.oneof(fc.nat(40), fc.nat(700))
const steps = fc.array(
  fc.record({ literals: fc.oneof(bytes(40), bytes(700)), distance: fc.nat(65_534), count: lengths }),
  { minLength: 1, maxLength: 12 },
)

/** The bytes of a step, computed in the simplest way. */
function repeated(before: Buffer, { distance, count }: { distance: number; count: number }): Buffer {
  const all = [...before]
  for (let index = 0; index < count; index++) all.push(all[all.length - distance] ?? 0)
  return Buffer.from(all)
}

const uint = (value: number, length: number) => {
  const field = Buffer.alloc(length)
  field.writeUIntLE(value, 0, length)
  return field
}

/** Lengths that do not fit in a nibble. */
const rest = (length: number) =>
  length < 15
    ? Buffer.alloc(0)
    : Buffer.from([...Array(Math.floor((length - 15) / 255)).fill(255), (length - 15) % 255])

function lz4Sequence(literals: Buffer, match?: { distance: number; count: number }): Buffer {
  const more = match ? match.count - 4 : 0
  const token = (Math.min(literals.length, 15) << 4) | Math.min(more, 15)
  const head = [Buffer.from([token]), rest(literals.length), literals]
  return Buffer.concat(match ? [...head, uint(match.distance, 2), rest(more)] : head)
}

const LZ4_HEAD = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0])
const lz4Frame = (...blocks: Buffer[]) =>
  Buffer.concat([LZ4_HEAD, ...blocks.flatMap((block) => [uint(block.length, 4), block]), uint(0, 4)])

/** A block for each part. */
function anLz4(parts: readonly { literals: Buffer; distance: number; count: number }[]) {
  let whole: Buffer = Buffer.alloc(0)
  const blocks = parts.map(({ literals, distance, count }) => {
    whole = Buffer.concat([whole, literals])
    if (whole.length === 0) return lz4Sequence(literals)
    const match = { distance: (distance % whole.length) + 1, count: count + 4 }
    whole = repeated(whole, match)
    return Buffer.concat([lz4Sequence(literals, match), lz4Sequence(Buffer.alloc(0))])
  })
  return { whole, frame: lz4Frame(...blocks) }
}

function snappyStep(step: Step): Buffer {
  if ('literals' in step) {
    const length = step.literals.length - 1
    if (length < 0) return Buffer.alloc(0)
    if (length < 60) return Buffer.concat([Buffer.from([length << 2]), step.literals])
    const size = length < 256 ? 1 : 2
    return Buffer.concat([Buffer.from([(59 + size) << 2]), uint(length, size), step.literals])
  }
  const { distance, count } = step
  if (distance < 2_048 && count >= 4 && count <= 11)
    return Buffer.from([((distance >> 8) << 5) | ((count - 4) << 2) | 1, distance & 255])
  const size = distance < 65_536 ? 2 : 4
  return Buffer.concat([Buffer.from([((count - 1) << 2) | (size === 2 ? 2 : 3)]), uint(distance, size)])
}

function varint(value: number): Buffer {
  const found: number[] = []
  let left = value
  for (; left > 127; left = Math.floor(left / 128)) found.push((left % 128) | 128)
  return Buffer.from([...found, left])
}

const snappyBlock = (length: number, ...body: Buffer[]) => Buffer.concat([varint(length), ...body])

function aSnappy(parts: readonly { literals: Buffer; distance: number; count: number }[]) {
  let whole: Buffer = Buffer.alloc(0)
  const body = parts.flatMap(({ literals, distance, count }) => {
    whole = Buffer.concat([whole, literals])
    if (whole.length === 0) return []
    const copy = { distance: (distance % whole.length) + 1, count: (count % 64) + 1 }
    whole = repeated(whole, copy)
    return [snappyStep({ literals }), snappyStep(copy)]
  })
  return { whole, block: snappyBlock(whole.length, ...body) }
}

const XERIAL = Buffer.from('\x82SNAPPY\0\0\0\0\x01\0\0\0\x01', 'latin1')
function framed(...blocks: Buffer[]): Buffer {
  const sized = blocks.flatMap((block) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(block.length)
    return [length, block]
  })
  return Buffer.concat([XERIAL, ...sized])
}

const lines = (count: number) =>
  Array.from({ length: count }, (_, i) => `event ${i % 7} of user ${(i * i) % 11}\n`).join('')

describe('LZ4', () => {
  test.each(Object.entries(made.lz4))('reads frames of liblz4: %s', (_, frame) => {
    expect(String(lz4Decompress(Buffer.from(frame, 'base64'), MOST))).toBe(lines(6_000))
  })

  test('reads any literals and repetitions, also of earlier blocks', () => {
    fc.assert(
      fc.property(steps, (parts) => {
        const { whole, frame } = anLz4(parts)
        expect(lz4Decompress(frame, MOST).equals(whole)).toBe(true)
      }),
    )
  })

  test('reads stored blocks', () => {
    const stored = Buffer.concat([LZ4_HEAD, uint(0x80000003, 4), Buffer.from('abc'), uint(0, 4)])
    expect(String(lz4Decompress(stored, MOST))).toBe('abc')
  })

  test('refuses a frame that is cut off anywhere', () => {
    const { frame } = anLz4([{ literals: Buffer.from('abcdef'), distance: 2, count: 30 }])
    for (let end = 0; end < frame.length; end++)
      expect(() => lz4Decompress(frame.subarray(0, end), MOST)).toThrow(RangeError)
  })

  test.each([
    ['another magic number', Buffer.from('nothing of the kind'), 'not an LZ4 frame'],
    ['another version', Buffer.concat([LZ4_HEAD.with(4, 0xc0), uint(0, 4)]), 'version 3'],
    ['a dictionary', Buffer.concat([LZ4_HEAD.with(4, 0x41), uint(0, 4)]), 'a dictionary'],
    ['literals that are not there', lz4Frame(Buffer.from('\x50abc', 'latin1')), 'it ends early'],
    [
      'a repetition of nothing',
      lz4Frame(lz4Sequence(Buffer.from('a'), { distance: 2, count: 4 })),
      'before its',
    ],
    [
      'a repetition at no distance',
      lz4Frame(lz4Sequence(Buffer.from('a'), { distance: 0, count: 4 })),
      'before its',
    ],
  ])('refuses %s', (_, frame, said) => {
    expect(() => lz4Decompress(Buffer.from(frame), MOST)).toThrow(said)
  })
})

describe('Snappy', () => {
  test('reads blocks of libsnappy, with and without framing', () => {
    const block = Buffer.from(made.snappy, 'base64')
    expect(String(snappyDecompress(block, MOST))).toBe(lines(200))
    expect(String(snappyDecompress(framed(block, block), MOST))).toBe(lines(200) + lines(200))
  })

  test('reads any literals and copies, in any number of framed blocks', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 3 }), (blocks) => {
        const all = blocks.map(aSnappy)
        for (const { whole, block } of all) expect(snappyDecompress(block, MOST).equals(whole)).toBe(true)
        const whole = Buffer.concat(all.map((one) => one.whole))
        expect(snappyDecompress(framed(...all.map(({ block }) => block)), MOST).equals(whole)).toBe(true)
      }),
    )
  })

  test('reads copies further back than two bytes can address', () => {
    const far = Buffer.alloc(70_000, 'x')
    far.write('begin')
    // literals of up to 65,536 bytes a step
    const parts = [far.subarray(0, 40_000), far.subarray(40_000)].map((literals) => snappyStep({ literals }))
    const block = snappyBlock(70_005, ...parts, snappyStep({ distance: 70_000, count: 5 }))
    expect(String(snappyDecompress(block, MOST).subarray(-5))).toBe('begin')
  })

  test('refuses input that is cut off anywhere', () => {
    const { block } = aSnappy([{ literals: Buffer.from('abcdef'), distance: 2, count: 30 }])
    for (let end = 0; end < block.length; end++)
      expect(() => snappyDecompress(block.subarray(0, end), MOST)).toThrow(RangeError)
    const two = framed(block, block)
    // a frame may end after its first block
    const whole = XERIAL.length + 4 + block.length
    for (let end = XERIAL.length + 1; end < two.length; end++)
      if (end !== whole) expect(() => snappyDecompress(two.subarray(0, end), MOST)).toThrow(RangeError)
  })

  test.each([
    ['a length of more than 32 bits', Buffer.alloc(9, 0xff), 'not a Snappy block'],
    [
      'more than it says',
      snappyBlock(2, snappyStep({ literals: Buffer.from('abc') })),
      'it is longer than 2 bytes',
    ],
    ['literals that are not there', snappyBlock(5, Buffer.from('\x10abc', 'latin1')), 'it ends early'],
    ['a copy of nothing', snappyBlock(9, snappyStep({ distance: 1, count: 9 })), 'before its beginning'],
  ])('refuses %s', (_, block, said) => {
    expect(() => snappyDecompress(block, MOST)).toThrow(said)
  })
})

test('output is bounded, however small the input', () => {
  // 1 MB expands to 255
  const long = lz4Frame(lz4Sequence(Buffer.from('a'), { distance: 1, count: 255 * MOST }))
  expect(() => lz4Decompress(long, MOST)).toThrow(`it is longer than ${MOST} bytes`)
  const exact = lz4Frame(lz4Sequence(Buffer.from('a'), { distance: 1, count: MOST - 1 }))
  expect(lz4Decompress(exact, MOST)).toHaveLength(MOST)
  // at once, before any output is made
  expect(() => snappyDecompress(snappyBlock(2 ** 32 - 1), MOST)).toThrow(`it is longer than ${MOST} bytes`)
  const half = snappyBlock(
    600_032,
    snappyStep({ literals: Buffer.alloc(60_000) }),
    ...Array.from({ length: 8_438 }, () => snappyStep({ distance: 1, count: 64 })),
  )
  expect(() => snappyDecompress(framed(half, half), MOST)).toThrow('it is longer than')
})

test('any input ends with bytes or a RangeError', () => {
  const anything = fc
    .tuple(fc.constantFrom(Buffer.alloc(0), LZ4_HEAD, XERIAL), bytes(300))
    .map((parts) => Buffer.concat(parts))
  fc.assert(
    fc.property(anything, (given) => {
      for (const decompress of [lz4Decompress, snappyDecompress])
        try {
          expect(decompress(given, MOST).length).toBeLessThanOrEqual(MOST)
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
        }
    }),
    { numRuns: 1_000 },
  )
})
