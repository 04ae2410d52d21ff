import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { logShortage, type Room, roomsOf, shortageOf } from '../../kafka/admin/storage.ts'
import { decodeLogDirs, type LogDir } from '../../kafka/patches/log-dirs.ts'

const GB = 1024 ** 3
const dir = (free: number, total: number, topics: Record<string, number> = {}): LogDir => ({
  free,
  total,
  topics: new Map(Object.entries(topics)),
})
const untold = { reserve: undefined, limit: undefined }

describe('the room for more records', () => {
  test('is that of the disk with the least space above its reserve', () => {
    const dirs = [[dir(90 * GB, 100 * GB)], [dir(8 * GB, 10 * GB), dir(3 * GB, 1_000 * GB)]]
    expect(roomsOf(dirs, untold, '')).toEqual([{ of: 'disk', free: 3 * GB, reserve: 2 * GB }])
    const small = [[dir(2 * GB, 10 * GB), dir(2.5 * GB, 1_000 * GB)]]
    expect(roomsOf(small, untold, '')).toEqual([{ of: 'disk', free: 2.5 * GB, reserve: 2 * GB }])
  })

  test('reserves a tenth of a small disk and 2 GB of a large one by default', () => {
    const reserve = (total: number, told?: number) =>
      roomsOf([[dir(0, total)]], { ...untold, reserve: told }, '')[0]?.reserve
    expect([reserve(GB), reserve(500 * GB), reserve(GB, 7)]).toEqual([GB / 10, 2 * GB, 7])
  })

  test("under a limit is what Sluice's topics leave, on the broker where they take most", () => {
    const dirs = [
      [dir(50, 100, { 'a.events': 10, 'b.events': 500 }), dir(50, 100, { 'a.attempts': 20 })],
      [dir(50, 100, { 'a.events': 25 })],
    ]
    const limitOf = (limit: number) => roomsOf(dirs, { ...untold, limit }, 'a.')[1]
    expect(limitOf(100)).toEqual({ of: 'limit', free: 70, reserve: 10 })
    expect(limitOf(20)).toEqual({ of: 'limit', free: 0, reserve: 2 })
  })

  test('is unknown when no broker reports it', () => {
    for (const limits of [untold, { ...untold, limit: 100 }])
      expect([roomsOf([], limits, ''), roomsOf([[]], limits, '')]).toEqual([[], []])
  })
})

describe('a shortage', () => {
  const room = (free: number, of: Room['of'] = 'disk'): Room => ({ of, free, reserve: 100 })

  test('begins below the reserve and ends at a quarter above it', () => {
    let shortage: Room | undefined
    const seen = [150, 100, 99, 100, 124, 125, 100, 10].map((free) => {
      shortage = shortageOf([room(free)], shortage)
      return shortage !== undefined
    })
    expect(seen).toEqual([false, false, true, true, true, false, false, true])
  })

  test('can also be one of the limit, and the disk then has no higher bar', () => {
    const limit = shortageOf([room(500), room(50, 'limit')], undefined)
    expect(limit?.of).toBe('limit')
    expect(shortageOf([room(110), room(500, 'limit')], limit)).toBeUndefined()
  })

  test('does not exist when nothing is known', () => expect(shortageOf([], room(1))).toBeUndefined())
})

describe("a broker's answer about its disks", () => {
  const Encoder = createRequire(import.meta.url)('kafkajs/src/protocol/encoder')
  type Told = { error: number; total: number; free: number; topics: { name: string; sizes: number[] }[] }

  // DescribeLogDirsResponse, version 4, by Kafka's own description
  function answer(error: number, dirs: readonly Told[]): Buffer {
    const list = (items: readonly object[]) => new Encoder().writeUVarIntArray(items)
    return new Encoder()
      .writeUVarIntBytes()
      .writeInt32(0)
      .writeInt16(error)
      .writeEncoder(
        list(
          dirs.map((each) =>
            new Encoder()
              .writeInt16(each.error)
              .writeUVarIntString('/data')
              .writeEncoder(
                list(
                  each.topics.map(({ name, sizes }) =>
                    new Encoder()
                      .writeUVarIntString(name)
                      .writeEncoder(
                        list(
                          sizes.map((size, partition) =>
                            new Encoder()
                              .writeInt32(partition)
                              .writeInt64(size)
                              .writeInt64(0)
                              .writeInt8(0)
                              .writeUVarIntBytes(),
                          ),
                        ),
                      )
                      .writeUVarIntBytes(),
                  ),
                ),
              )
              .writeInt64(each.total)
              .writeInt64(each.free)
              .writeUVarIntBytes(),
          ),
        ),
      )
      .writeUVarIntBytes().buffer
  }

  const size = fc.integer({ min: 0, max: 2 ** 50 })
  const topic = fc.record({
    name: fc.stringMatching(/^[a-z.]{1,20}$/),
    sizes: fc.array(size, { maxLength: 3 }),
  })
  const told = fc.record({
    error: fc.constantFrom(0, 56),
    total: fc.integer({ min: -1, max: 2 ** 50 }),
    free: fc.integer({ min: -1, max: 2 ** 50 }),
    topics: fc.uniqueArray(topic, { selector: ({ name }) => name, maxLength: 3 }),
  })

  test('is decoded; failed or unknown disks are left out', () => {
    fc.assert(
      fc.property(fc.array(told, { maxLength: 3 }), (dirs) => {
        const known = dirs.filter(({ error, total, free }) => error === 0 && total > 0 && free >= 0)
        expect(decodeLogDirs(answer(0, dirs))).toEqual(
          known.map(({ total, free, topics }) => ({
            total,
            free,
            topics: new Map(
              topics.map(({ name, sizes }) => [name, sizes.reduce((sum, each) => sum + each, 0)]),
            ),
          })),
        )
      }),
    )
  })

  test('that refuses is undefined', () => {
    expect(decodeLogDirs(answer(31, []))).toBeUndefined()
  })
})

test('a shortage is logged as one warning with the space left, and its end as one line', () => {
  const said: unknown[][] = []
  const log = { warn: (...of: unknown[]) => said.push(of), info: (...of: unknown[]) => said.push(of) }
  const say = logShortage(log, { during: 'retries wait', after: 'retries continue' })
  say({ of: 'disk', free: 1, reserve: 2 })
  say(undefined)
  expect(said).toEqual([
    [{ free: 1, reserve: 2 }, "Kafka's disk is almost full: retries wait until there is space"],
    ['there is enough space again: retries continue'],
  ])
})
