import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Encoded, idIn } from '../../../clients/node/encode.ts'
import { Queue } from '../../../clients/node/queue.ts'
import { thrownBy } from './service.ts'

const call = (bytes: number, messageId = ''): Encoded => ({
  type: 'track',
  json: JSON.stringify({ messageId }),
  bytes,
})
const queueOf = (bounds: { maxQueue?: number; maxQueueBytes?: number; flushAt?: number }) =>
  new Queue({ maxQueue: 100, maxQueueBytes: 100_000, flushAt: 20, ...bounds })

describe('a queue is full', () => {
  test('with as many calls as maxQueue says, those under way included', () => {
    const queue = queueOf({ maxQueue: 3, flushAt: 1 })
    queue.push(call(1))
    queue.push(call(1))
    queue.take()
    queue.push(call(1))
    const error = thrownBy(() => queue.push(call(1)))
    expect(error).toMatchObject({
      code: 'queue_full',
      message: expect.stringMatching(/3 calls \(maxQueue\)/),
    })
    queue.release()
    queue.push(call(1))
  })

  test('with as many bytes as maxQueueBytes says, those under way included', () => {
    const queue = queueOf({ maxQueueBytes: 40_000, flushAt: 1 })
    queue.push(call(30_000))
    queue.take()
    queue.push(call(10_000))
    const error = thrownBy(() => queue.push(call(1)))
    expect(error).toMatchObject({
      code: 'queue_full',
      message: expect.stringMatching(/40000 bytes \(maxQueueBytes\)/),
    })
    queue.release()
    queue.push(call(30_000))
    expect(thrownBy(() => queue.push(call(1)))).toMatchObject({ code: 'queue_full' })
  })
})

test('there is room when the largest call would be taken', () => {
  const queue = queueOf({ maxQueueBytes: 70_000 })
  expect(queue.room).toBe(2)
  queue.push(call(4_464))
  expect(queue.room).toBe(2)
  queue.push(call(1))
  expect(queue.room).toBe(1)
  expect(queueOf({ maxQueue: 1 }).room).toBe(1)
})

test('what is given up is what was under way, then what waited', () => {
  const queue = queueOf({ flushAt: 1 })
  for (const id of ['a', 'b', 'c']) queue.push(call(10, id))
  queue.take()
  expect(queue.clear().map(idIn)).toEqual(['a', 'b', 'c'])
  expect([queue.size, queue.waiting, queue.waitingBytes]).toEqual([0, 0, 0])
})

test('whatever comes and goes, calls leave in their order, and no bound is passed', () => {
  const steps = fc.array(fc.oneof(fc.integer({ min: 1, max: 32_768 }), fc.constantFrom('take', 'release')), {
    size: 'large',
  })
  fc.assert(
    fc.property(steps, (steps) => {
      const queue = queueOf({ maxQueue: 10 })
      const [expected, left]: string[][] = [[], []]
      let [next, underWay, bytes] = [0, false, 0]
      const sizes = new Map<string, number>()
      for (const step of steps) {
        if (step === 'take' && !underWay && queue.waiting > 0) {
          left?.push(...queue.take().map(idIn))
          underWay = true
        } else if (step === 'release') {
          queue.release()
          underWay = false
          bytes = [...(expected ?? [])].slice(left?.length).reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0)
        } else if (typeof step === 'number') {
          const id = String(next++)
          try {
            queue.push(call(step, id))
          } catch {
            expect(queue.size === 10 || bytes + step > 100_000).toBe(true)
            continue
          }
          expected?.push(id)
          sizes.set(id, step)
          bytes += step
        }
        expect(queue.size).toBeLessThanOrEqual(10)
        expect(bytes).toBeLessThanOrEqual(100_000)
      }
      expect(expected?.slice(0, left?.length)).toEqual(left)
    }),
  )
}, 30_000)
