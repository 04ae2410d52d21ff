import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Settlement } from '../../deliverer/decide.ts'
import { Settler } from '../../deliverer/settle.ts'
import type { ConsumerRecord } from '../../kafka/consume/record.ts'
import type { OutRecord, Produced, Producer } from '../../kafka/produce/produce.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { aDelivery } from '../helpers/events.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

const before = aDelivery()
const after = aDelivery({ attempt: 1 })
const rung = { name: '5s', delayMs: 5_000 }
const retry: Settlement = { kind: 'retry', rung, dueAt: 5_000, delivery: after }
const deferral: Settlement = { kind: 'defer', rung, dueAt: 5_000, delivery: aDelivery({ deferrals: 1 }) }
const dead: Settlement = { kind: 'dead', reason: 'refused', delivery: after }

/** Later writes are `acked`. */
function aWorld(...outcomes: (Produced | Promise<Produced>)[]) {
  let stalledMs = 0
  const written: (OutRecord & { at: number })[] = []
  const fates: string[] = []
  const told: [string, Delivery][] = []
  const faults: string[] = []
  const parked: unknown[] = []
  const unfit = new Set<Delivery>()
  const produce: Producer['produce'] = async (records) => {
    written.push(...records.map((record) => ({ ...record, at: Date.now() })))
    return outcomes.shift() ?? 'acked'
  }
  const settler = new Settler({
    producer: { produce },
    attemptProducer: { produce, stalledMs: () => stalledMs },
    ladder: { ladder: [rung, { name: '1h', delayMs: 3_600_000 }] },
    // values are compared; bytes are the codec's affair
    deliveries: {
      encode(delivery) {
        if (unfit.has(delivery)) throw new Error('no such field')
        return Buffer.from(JSON.stringify(delivery))
      },
    },
    attempts: { encode: (attempt) => Buffer.from(JSON.stringify(attempt)) },
    onSettled: (result, delivery) => void told.push([result.kind, delivery]),
    onFatal: (error) => void faults.push(error.message),
  })
  const record: ConsumerRecord<Delivery> = {
    topic: 'deliveries.due',
    partition: 0,
    offset: 0,
    timestamp: 0,
    key: 'crm/u1',
    value: before,
    settle: () => void fates.push('settled'),
    owned: () => true,
    release: () => void fates.push('released'),
    park({ value, ...message }, reason) {
      fates.push('parked')
      parked.push({ ...message, value: JSON.parse(String(value)), reason })
    },
  }
  return {
    settle: (result: Settlement, value = before) => settler.settle({ ...record, value }, result),
    stall: (ms: number) => {
      stalledMs = ms
    },
    /** These cannot be encoded. */
    spoil: (...deliveries: Delivery[]) => {
      for (const delivery of deliveries) unfit.add(delivery)
    },
    written: () => written.map(({ at, value, ...rest }) => ({ ...rest, value: JSON.parse(String(value)) })),
    times: () => written.map(({ topic, at }) => [topic, at]),
    parked,
    fates,
    told,
    faults,
  }
}

const rested = () => vi.advanceTimersByTimeAsync(0)

const asParked = (reason: string) => ({ key: Buffer.from('crm/u1'), value: before, headers: {}, reason })

describe('a finished delivery', () => {
  test('that is done is settled at once, and nothing is written', () => {
    const world = aWorld()
    world.settle({ kind: 'done' })
    expect([world.fates, world.told]).toEqual([['settled'], [['done', before]]])
    expect(world.written()).toEqual([])
  })

  test('that is cancelled is settled when Kafka has its only record, in attempts, and not before', async () => {
    const { promise, resolve } = Promise.withResolvers<Produced>()
    const world = aWorld(promise)
    world.settle({ kind: 'cancelled', code: 'destination_deleted' })
    await vi.advanceTimersByTimeAsync(50)
    expect([world.fates, world.told]).toEqual([[], []])
    const { deliveryId, destinationId } = before
    const value = { deliveryId, outcome: 'cancelled', code: 'destination_deleted', startedAt: 50 }
    expect(world.written()).toMatchObject([{ topic: 'attempts', key: destinationId, value }])
    resolve('acked')
    await rested()
    expect([world.fates, world.told]).toEqual([['settled'], [['cancelled', before]]])
  })
})

describe('a cancelled delivery, while topic attempts accepts no writes,', () => {
  const cancelled: Settlement = { kind: 'cancelled', code: 'destination_disabled' }

  test.each<Produced>(['unknown', 'full'])(
    'waits on a rung, and is not settled before: %s',
    async (outcome) => {
      const { promise, resolve } = Promise.withResolvers<Produced>()
      const world = aWorld(outcome, promise)
      world.settle(cancelled)
      await vi.advanceTimersByTimeAsync(50)
      expect(world.written().map(({ topic }) => topic)).toEqual(['attempts', 'deliveries.retry.5s'])
      expect(world.fates).toEqual([])
      resolve('acked')
      await rested()
      expect([world.fates, world.told]).toEqual([['settled'], [['defer', before]]])
    },
  )

  test('is not written there once the topic has been stalled for 5 s', async () => {
    const world = aWorld()
    world.stall(5_001)
    world.settle(cancelled)
    await vi.advanceTimersByTimeAsync(50)
    expect(world.written()).toMatchObject([
      { topic: 'deliveries.retry.5s', headers: { dueAt: '5050' }, value: { deferrals: 1 } },
    ])
  })

  test('never becomes a dead letter, however long that lasts', async () => {
    const world = aWorld()
    world.stall(5_001)
    world.settle(cancelled, aDelivery({ deferrals: 40, firstAttemptAt: -86_400_000 }))
    await vi.advanceTimersByTimeAsync(50)
    expect(world.times()).toEqual([['deliveries.retry.1h', 50]])
  })

  test('is left to the next owner at shutdown', async () => {
    const world = aWorld('unknown', 'unknown')
    world.settle(cancelled)
    await vi.advanceTimersByTimeAsync(50)
    expect([world.fates, world.told]).toEqual([['released'], []])
  })
})

describe('a delivery that continues', () => {
  test('on a rung is written to its topic with the due time', async () => {
    const world = aWorld()
    world.settle(retry)
    await rested()
    const headers = { dueAt: '5000' }
    expect(world.written()).toEqual([{ topic: 'deliveries.retry.5s', key: 'crm/u1', value: after, headers }])
  })

  test('as dead is written to the dead letters with the reason', async () => {
    const world = aWorld()
    world.settle(dead)
    await rested()
    const headers = { reason: 'refused' }
    expect(world.written()).toEqual([{ topic: 'deliveries.dead', key: 'crm/u1', value: after, headers }])
  })

  test('is settled when Kafka has its next record, and not before', async () => {
    const { promise, resolve } = Promise.withResolvers<Produced>()
    const world = aWorld(promise)
    world.settle(retry)
    await rested()
    expect([world.fates, world.told]).toEqual([[], []])
    resolve('acked')
    await rested()
    expect([world.fates, world.told]).toEqual([['settled'], [['retry', before]]])
  })

  test('is released when the result of the write is unknown', async () => {
    const world = aWorld('unknown')
    world.settle(retry)
    await rested()
    expect([world.fates, world.told, world.faults]).toEqual([['released'], [], []])
    expect(world.written()).toHaveLength(1)
  })
})

describe('a delivery that cannot continue', () => {
  test.each<Produced>(['too_large', 'refused', 'full'])(
    'as its next record is %s is parked as it was',
    async (outcome) => {
      const world = aWorld(outcome)
      world.settle(dead)
      await rested()
      expect(world.parked).toEqual([asParked(`its next record cannot be written: ${outcome}`)])
      expect([world.fates, world.told, world.faults]).toEqual([['parked'], [], []])
    },
  )

  test('whose next record cannot be encoded is parked too', async () => {
    const world = aWorld()
    world.spoil(after)
    world.settle(retry)
    await rested()
    expect(world.parked).toEqual([asParked('Error: no such field')])
    expect([world.written(), world.fates, world.told, world.faults]).toEqual([[], ['parked'], [], []])
  })

  test('is not settled if it cannot be encoded at all, and the process ends', async () => {
    const world = aWorld()
    world.spoil(before, after)
    world.settle(retry)
    await rested()
    expect([world.written(), world.fates, world.faults]).toEqual([[], [], ['no such field']])
  })
})

describe('deferrals', () => {
  const [onRung, inDead] = ['deliveries.retry.5s', 'deliveries.dead']

  test('are written in a batch when the first has waited for 50 ms', async () => {
    const world = aWorld()
    world.settle(deferral)
    await vi.advanceTimersByTimeAsync(30)
    world.settle(deferral)
    await vi.advanceTimersByTimeAsync(19)
    expect([world.times(), world.fates]).toEqual([[], []])
    await vi.advanceTimersByTimeAsync(100)
    expect([world.times(), world.fates]).toEqual([
      [
        [onRung, 50],
        [onRung, 50],
      ],
      ['settled', 'settled'],
    ])
  })

  test('are written without a wait once there are 200', async () => {
    const world = aWorld()
    for (let each = 0; each < 199; each++) world.settle(deferral)
    await rested()
    expect(world.times()).toEqual([])
    world.settle(deferral)
    await rested()
    expect(world.fates).toHaveLength(200)
  })

  test.each([
    ['a retry', retry, onRung],
    ['what is dead', dead, inDead],
  ])('do not delay %s, which is written at once', async (_, result, topic) => {
    const world = aWorld()
    world.settle(deferral)
    await vi.advanceTimersByTimeAsync(10)
    world.settle(result)
    await vi.advanceTimersByTimeAsync(100)
    expect(world.times()).toEqual([
      [topic, 10],
      [onRung, 50],
    ])
  })

  test('are settled separately: one that cannot be encoded is parked, one that is not written is released', async () => {
    const world = aWorld('unknown')
    const spoilt = aDelivery({ deferrals: 2 })
    world.spoil(spoilt)
    world.settle(deferral)
    world.settle({ ...deferral, delivery: spoilt })
    world.settle(deferral)
    await vi.advanceTimersByTimeAsync(50)
    expect(world.written().map(({ topic }) => topic)).toEqual([onRung, onRung])
    expect(world.fates.toSorted()).toEqual(['parked', 'released', 'settled'])
  })
})
