import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { withoutCopies } from '../../deliverer/copies.ts'
import type { ConsumerRecord, Handler, Hold, Rest } from '../../kafka/consume/record.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { aDelivery } from '../helpers/events.ts'

/** The test is the handler: it decides how each handled record ends. */
function aWorld() {
  const ended: string[] = []
  const names: string[] = []
  const handled = new Map<string, ConsumerRecord<Delivery>>()
  let copies = 0
  let answer: () => Hold | Rest | undefined = () => undefined
  const handle: Handler<Delivery> = (record) => {
    const pressure = answer()
    handled.set(names[record.offset] ?? '', record)
    return pressure
  }
  const { handle: receive, watch } = withoutCopies(handle, () => {
    copies += 1
  })

  return {
    ended,
    /** By the names of the records. */
    handled,
    copies: () => copies,
    answers: (by: typeof answer) => {
      answer = by
    },
    take(
      name: string,
      fields: Partial<Delivery> = {},
      at: { partition?: number; key?: string; isOwned?: boolean } = {},
    ) {
      const { partition = 0, key = 'crm/u1', isOwned = true } = at
      const offset = names.push(name) - 1
      const record: ConsumerRecord<Delivery> = {
        ...{ topic: 'deliveries.due', partition, offset, timestamp: 0, key, owned: () => isOwned },
        value: aDelivery({ attempt: 1, ...fields }),
        settle: () => void ended.push(`${name} settled`),
        release: () => void ended.push(`${name} released`),
        park: () => void ended.push(`${name} parked`),
      }
      return receive(record, {} as never)
    },
    gained: watch.gained,
    settle: (name: string) => handled.get(name)?.settle(),
  }
}

describe('a copy', () => {
  test('of a settled record is settled without being handled', () => {
    const world = aWorld()
    world.take('first')
    world.settle('first')
    world.take('copy')
    expect([...world.handled.keys()]).toEqual(['first'])
    expect(world.ended).toEqual(['first settled', 'copy settled'])
    expect(world.copies()).toBe(1)
  })

  test.each([
    { end: 'settle', of: (record: ConsumerRecord<Delivery>) => record.settle(), copies: 'settled', count: 2 },
    {
      end: 'park',
      of: (record: ConsumerRecord<Delivery>) => record.park({} as never, 'x'),
      copies: 'settled',
      count: 2,
    },
    {
      end: 'release',
      of: (record: ConsumerRecord<Delivery>) => record.release(),
      copies: 'released',
      count: 0,
    },
  ])('of an open record waits, and is $copies after the $end', ({ of, copies, count }) => {
    const world = aWorld()
    world.take('first')
    world.take('second')
    world.take('third')
    expect([...world.handled.keys()]).toEqual(['first'])
    expect(world.ended).toEqual([])
    const first = world.handled.get('first')
    if (first) of(first)
    expect(world.ended).toHaveLength(3)
    expect(world.ended.slice(0, 2)).toEqual([`second ${copies}`, `third ${copies}`])
    expect(world.copies()).toBe(count)
  })

  test('is any record that is not further than the last one settled', () => {
    const world = aWorld()
    world.take('further', { attempt: 2, deferrals: 3 })
    world.settle('further')
    const behind = {
      'fewer deferrals': { attempt: 2, deferrals: 2 },
      'fewer attempts': { attempt: 1, deferrals: 9 },
    }
    for (const [name, fields] of Object.entries(behind)) world.take(name, fields)
    expect([...world.handled.keys()]).toEqual(['further'])
    world.take('one deferral more', { attempt: 2, deferrals: 4 })
    world.take('one attempt more', { attempt: 3, deferrals: 0 })
    expect([...world.handled.keys()]).toEqual(['further', 'one deferral more', 'one attempt more'])
  })

  test('that is settled late does not lower the stage that was reached meanwhile', () => {
    const world = aWorld()
    world.take('behind')
    world.take('further', { attempt: 2 })
    world.settle('further')
    world.settle('behind')
    world.take('again', { attempt: 2 })
    expect([...world.handled.keys()]).toEqual(['behind', 'further'])
  })
})

describe('not a copy is', () => {
  test.each([
    ['a replay', { routedAt: 1_699_900_000_001 }, {}],
    ['another call with the same messageId', { body: '{"version":1,"type":"page"}' }, {}],
    ["another user's call with the same messageId and body", {}, { key: 'crm/u2' }],
    ['another delivery', { deliveryId: 'f'.repeat(32) }, {}],
    [
      'a delivery that another program wrote with negative counts',
      { attempt: -1, deferrals: -1, body: '{}' },
      {},
    ],
  ])('%s', (_, fields, at) => {
    const world = aWorld()
    world.take('first')
    world.take('while it is open', fields, at)
    world.settle('first')
    world.take('afterwards', { ...fields, attempt: 2 }, at)
    expect([...world.handled.keys()]).toEqual(['first', 'while it is open', 'afterwards'])
  })

  test('a record that comes again after it was held, was released or could not be handled', () => {
    const world = aWorld()
    world.answers(() => ({ holdUntil: 1 }))
    expect(world.take('held')).toEqual({ holdUntil: 1 })
    world.answers(() => {
      throw new Error('a bug')
    })
    expect(() => world.take('failed')).toThrow('a bug')
    world.answers(() => ({ restUntil: 1 }))
    expect(world.take('rests')).toEqual({ restUntil: 1 })
    world.take('copy')
    world.handled.get('rests')?.release()
    expect(world.ended).toEqual(['copy released', 'rests released'])
    world.take('again')
    expect([...world.handled.keys()]).toEqual(['held', 'rests', 'again'])
  })

  test('a parked record that is written to its topic again', () => {
    const world = aWorld()
    world.take('parked')
    world.handled.get('parked')?.park({} as never, 'x')
    world.take('again')
    expect([...world.handled.keys()]).toEqual(['parked', 'again'])
  })

  test.each([
    ['if the other one is of a partition that was given up', { isOwned: false }],
    ['if the other one is in another partition', { partition: 1 }],
  ])('a record %s', (_, place) => {
    const world = aWorld()
    world.take('first', {}, place)
    world.take('second')
    expect([...world.handled.keys()]).toEqual(['first', 'second'])
    // it ends without a result. The second one is still open
    world.handled.get('first')?.release()
    world.take('third')
    expect([...world.handled.keys()]).toEqual(['first', 'second'])
    world.settle('second')
    expect(world.ended).toEqual(['first released', 'third settled', 'second settled'])
  })
})

describe('what was settled is forgotten', () => {
  const isHandled = (world: ReturnType<typeof aWorld>, deliveryId: string) => {
    const { size } = world.handled
    world.take(`copy of ${deliveryId}`, { deliveryId })
    return world.handled.size > size
  }
  const settled = (world: ReturnType<typeof aWorld>, deliveryId: string) => {
    world.take(deliveryId, { deliveryId })
    world.settle(deliveryId)
  }

  test('after 50,000 to 100,000 other deliveries', () => {
    const world = aWorld()
    for (let index = 0; index < 100_000; index++) settled(world, String(index))
    expect([isHandled(world, '49999'), isHandled(world, '50000')]).toEqual([true, false])
  })

  test('after ten minutes: a record that comes again later was restored by someone', () => {
    vi.useFakeTimers()
    try {
      const world = aWorld()
      settled(world, 'd')
      vi.advanceTimersByTime(599_000)
      expect(isHandled(world, 'd')).toBe(false)
      vi.advanceTimersByTime(1_000)
      expect(isHandled(world, 'd')).toBe(true)
    } finally {
      vi.useRealTimers()
    }
  })

  test.each([
    { of: 'was cut or recreated', lostFrom: 0, forgotten: true },
    { of: 'is whole', lostFrom: undefined, forgotten: false },
  ])('when a partition is gained whose log $of: $forgotten', ({ lostFrom, forgotten }) => {
    const world = aWorld()
    settled(world, 'd')
    world.gained([
      { topic: 'deliveries.due', partition: 0 },
      { topic: 'deliveries.due', partition: 1, lostFrom },
    ])
    expect(isHandled(world, 'd')).toBe(forgotten)
  })
})

type Step =
  | { kind: 'take'; delivery: number; attempt: number }
  | { kind: 'end'; index: number; how: 'settle' | 'park' | 'release' }
  | { kind: 'revoke' }

test('no delivery is lost: a copy is dropped only if a record at least as far was settled or parked', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('take' as const), delivery: fc.nat(2), attempt: fc.nat(3) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('end' as const),
        index: fc.nat(),
        how: fc.constantFrom('settle' as const, 'park' as const, 'release' as const),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'revoke' as const }) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps: Step[]) => {
      let generation = { owned: true }
      const open: ConsumerRecord<Delivery>[] = []
      /** By delivery: the furthest attempt that was handled, then settled or parked. */
      const reached = new Map<string, number>()
      const unsettled = new Set<string>()
      let names = 0
      const { handle: receive } = withoutCopies(
        (record) => {
          open.push(record)
          return undefined
        },
        () => undefined,
      )
      function take(delivery: number, attempt: number): void {
        const name = `${++names}`
        const current = generation
        const deliveryId = String(delivery)
        unsettled.add(name)
        const end = () => {
          unsettled.delete(name)
          expect(reached.get(deliveryId) ?? -1).toBeGreaterThanOrEqual(attempt)
        }
        const record: ConsumerRecord<Delivery> = {
          ...{ topic: 'deliveries.due', partition: 0, offset: names, timestamp: 0, key: 'crm/u1' },
          value: aDelivery({ deliveryId, attempt }),
          owned: () => current.owned,
          settle: end,
          park: end,
          release: () => void unsettled.delete(name),
        }
        receive(record, {} as never)
      }
      function end(record: ConsumerRecord<Delivery>, how: 'settle' | 'park' | 'release'): void {
        const { deliveryId, attempt } = record.value
        if (how !== 'release') reached.set(deliveryId, Math.max(attempt, reached.get(deliveryId) ?? -1))
        if (how === 'park') record.park({} as never, 'x')
        else record[how]()
      }
      for (const each of steps) {
        if (each.kind === 'take') take(each.delivery, each.attempt)
        else if (each.kind === 'revoke') {
          generation.owned = false
          generation = { owned: true }
        } else {
          const [record] = open.splice(each.index % (open.length || 1), 1)
          if (record) end(record, each.how)
        }
      }
      for (const record of open) end(record, 'settle')
      // no record waits forever
      expect([...unsettled]).toEqual([])
    }),
    { numRuns: 2_000 },
  )
})
