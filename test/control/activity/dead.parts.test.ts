import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bodiesFrom, createExtent, rangesOf } from '../../../control/activity/dead/follow.ts'
import type { Reader } from '../../../kafka/tables/reader.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { aDelivery } from '../../helpers/events.ts'

describe('ranges', () => {
  const places = fc.uniqueArray(
    fc.record({ partition: fc.integer({ min: 0, max: 3 }), offset: fc.nat(2_000) }),
    { selector: ({ partition, offset }) => `${partition}/${offset}`, maxLength: 60 },
  )

  test('contain every requested record, in order, and few others', () => {
    fc.assert(
      fc.property(places, (wanted) => {
        const ranges = rangesOf(wanted)
        expect(new Set(ranges.map(([first]) => first?.partition)).size).toBe(ranges.length)
        for (const { partition, offset } of wanted) {
          const holding = ranges.flat().filter((range) => range.partition === partition)
          expect(holding.filter(({ from, to }) => from <= offset && offset < to)).toHaveLength(1)
        }
        for (const range of ranges.flat())
          expect(range.to - range.from).toBeLessThanOrEqual(wanted.length * 51)
        for (const ofOne of ranges)
          for (const [index, { from }] of ofOne.entries())
            expect(from).toBeGreaterThan(ofOne[index - 1]?.to ?? -1)
      }),
    )
  })
})

describe('how much of the topic is in memory', () => {
  const firstOffsets = (...offsets: number[]) =>
    new Map(offsets.map((low, partition) => [partition, { low }]))

  test('all of it, if each partition was read from its first record', () => {
    const extent = createExtent()
    extent.begun([{ topic: 'dead', partition: 0, low: 5, from: 5 }])
    expect(extent.isPartial(firstOffsets(5))).toBe(false)
    // added to the topic later
    expect(extent.isPartial(firstOffsets(5, 0))).toBe(false)
  })

  test('a part, if a partition was read from a later record, until retention removes the rest', () => {
    const extent = createExtent()
    extent.begun([
      { topic: 'dead', partition: 0, low: 0, from: 0 },
      { topic: 'dead', partition: 1, low: 0, from: 7 },
    ])
    expect(extent.isPartial(firstOffsets(0, 6))).toBe(true)
    expect(extent.isPartial(firstOffsets(0, 7))).toBe(false)
  })

  test('a part, if some were dropped, even before the start offsets are known', () => {
    const extent = createExtent()
    extent.dropped({ partition: 0, offset: 3 })
    extent.begun([{ topic: 'dead', partition: 0, low: 0, from: 0 }])
    extent.dropped({ partition: 0, offset: 1 })
    expect([extent.isPartial(firstOffsets(3)), extent.isPartial(firstOffsets(4))]).toEqual([true, false])
  })
})

describe('bodies', () => {
  const codec: Pick<Codec<Delivery>, 'decode'> = {
    decode: (value) =>
      String(value) === 'broken'
        ? { ok: false, reason: 'undecodable', message: 'broken' }
        : Promise.resolve({ ok: true, value: aDelivery({ body: String(value) }) }),
  }
  const place = (partition: number, offset: number) => ({ partition, offset })

  /** Bodies say where the records are. */
  const reader: Pick<Reader, 'read'> = {
    async read({ partition, from, to }, onValue) {
      const record = { key: null, timestamp: 0 }
      for (let offset = from; offset < to; offset++)
        onValue(Buffer.from(offset === 13 ? 'broken' : `${partition}/${offset}`), offset, record)
    },
  }

  test('each place gets its body; unreadable ones are left out', async () => {
    const places = [place(0, 900), place(0, 1), place(1, 1), place(0, 3), place(1, 13)]
    const found = await bodiesFrom(reader, codec)(places)
    expect(new Map([...found].map(([at, { body }]) => [at, body]))).toEqual(
      new Map([
        [places[0], '0/900'],
        [places[1], '0/1'],
        [places[2], '1/1'],
        [places[3], '0/3'],
      ]),
    )
  })
})
