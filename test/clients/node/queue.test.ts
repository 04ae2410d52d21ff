import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Encoded, idIn } from '../../../clients/node/encode.ts'
import { Queue } from '../../../clients/node/queue.ts'
import { until } from '../../helpers/until.ts'
import { thrownBy } from './service.ts'

const call = (bytes: number, messageId = ''): Encoded => ({
  type: 'track',
  json: JSON.stringify({ messageId }),
  bytes,
})
const queueOf = (bounds: { maxQueue?: number; maxQueueBytes?: number; flushAt?: number }) =>
  new Queue({ maxQueue: 100, maxQueueBytes: 100_000, flushAt: 20, ...bounds })

describe('a queue is full', () => {
  test('with maxQueue calls, including those being sent', () => {
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

  test('with maxQueueBytes bytes, including those being sent', () => {
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

describe('a call held by onFailure', () => {
  test('counts until it is released', () => {
    const queue = queueOf({ maxQueue: 3 })
    const letGo = queue.hold([{ json: '{}' }, { json: '{}' }])
    queue.push(call(1))
    expect([queue.size, queue.waiting, queue.room]).toEqual([3, 1, 0])
    const error = thrownBy(() => queue.push(call(1)))
    expect(error).toMatchObject({
      message: expect.stringMatching(/, including 2 calls held by onFailure or callbacks\./),
    })
    letGo()
    expect([queue.size, queue.room]).toEqual([1, 2])
  })

  test('counts in bytes of UTF-8', () => {
    const queue = queueOf({ maxQueueBytes: 40_000 })
    const letGo = queue.hold([{ json: 'é'.repeat(20_000) }])
    expect(thrownBy(() => queue.push(call(1)))).toMatchObject({ code: 'queue_full' })
    letGo()
    queue.push(call(32_768))
  })
})

test('the message has the singular for one call', () => {
  const queue = queueOf({ maxQueue: 1 })
  queue.push(call(1))
  expect(String(thrownBy(() => queue.push(call(1))))).toContain('The queue is full: 1 call (maxQueue). ')
})

test('taking a batch of one is equally fast however many calls are waiting', async () => {
  const COUNT = 100_000
  const msToEmpty = () => {
    const queue = queueOf({ maxQueue: COUNT, maxQueueBytes: COUNT, flushAt: 1 })
    for (let number = 0; number < COUNT; number++) queue.push(call(1))
    const start = performance.now()
    while (queue.waiting > 0) queue.take()
    return performance.now() - start
  }
  // about 20 ms; moving the whole queue each time would take many seconds
  await until(() => msToEmpty() < 1_500, { timeout: 30_000 })
})

test('the memory of taken and released calls is freed', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const queue = queueOf({ flushAt: 1 })
  const first = (() => {
    const taken = call(1)
    queue.push(taken)
    return new WeakRef(taken)
  })()
  for (let number = 0; number < 9; number++) queue.push(call(1))
  queue.take()
  queue.release()
  await new Promise(setImmediate)
  await until(() => {
    collect()
    return first.deref() === undefined
  })
  expect(queue.waiting).toBe(9)
})

test('there is room if a call of the largest size fits', () => {
  const queue = queueOf({ maxQueueBytes: 70_000 })
  expect(queue.room).toBe(2)
  queue.push(call(4_464))
  expect(queue.room).toBe(2)
  queue.push(call(1))
  expect(queue.room).toBe(1)
  expect(queueOf({ maxQueue: 1 }).room).toBe(1)
})

test('clear returns the calls being sent, then those waiting', () => {
  const queue = queueOf({ flushAt: 1 })
  for (const id of ['a', 'b', 'c']) queue.push(call(10, id))
  queue.take()
  expect(queue.clear().map(idIn)).toEqual(['a', 'b', 'c'])
  expect([queue.size, queue.waiting, queue.waitingBytes]).toEqual([0, 0, 0])
})

test('in any sequence, calls leave in order, and no limit is exceeded', () => {
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
})
