import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Encoded, idIn } from '../../../clients/node/encode.ts'
import { AnalyticsError } from '../../../clients/node/errors.ts'
import type { Delivered } from '../../../clients/node/failure.ts'
import { Queue } from '../../../clients/node/queue.ts'
import { Sender } from '../../../clients/node/sender.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
})

const taken: Delivered = { outcome: 'sent', rejected: [] }
const refused: Delivered = { outcome: 'failed', error: new AnalyticsError('rejected', 'No.') }

/** `takesMs`: of each batch, by the faked clock. */
function fakeSender({
  flushAt = 3,
  flushAfter = 1_000,
  takesMs = 0,
  maxQueue = 100,
  maxQueueBytes = 10_000_000,
  report = async (): Promise<void> => {},
  outcome = taken,
} = {}) {
  const sent: { at: number; ids: string[] }[] = []
  const start = performance.now()
  let underWay = 0
  const settings = { flushAt, flushAfter, maxQueue, maxQueueBytes }
  const sender = new Sender({
    queue: new Queue(settings),
    deliver: async (batch): Promise<Delivered> => {
      underWay += 1
      expect(underWay).toBe(1)
      sent.push({ at: performance.now() - start, ids: batch.map(idIn) })
      if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs))
      underWay -= 1
      return outcome
    },
    report,
    debug: undefined,
    settings,
  })
  let next = 0
  const add = (count = 1, bytes = 100) => {
    for (let each = 0; each < count; each++) sender.add(call(next++, bytes))
  }
  return { sender, sent, add }
}

const call = (number: number, bytes: number): Encoded => ({
  type: 'track',
  json: JSON.stringify({ messageId: `${number}` }),
  bytes,
})
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `${from + index}`)

describe('a batch is sent', () => {
  test('when flushAt calls are waiting, and not before', async () => {
    const { sent, add } = fakeSender()
    add(2)
    await vi.advanceTimersByTimeAsync(999)
    expect(sent).toEqual([])
    add(1)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([{ at: 999, ids: range(0, 3) }])
  })

  test('after flushAfter since the first call', async () => {
    const { sent, add } = fakeSender()
    await vi.advanceTimersByTimeAsync(5_000)
    add(1)
    await vi.advanceTimersByTimeAsync(600)
    add(1)
    await vi.advanceTimersByTimeAsync(399)
    expect(sent).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(sent).toEqual([{ at: 6_000, ids: range(0, 2) }])
  })

  test('after flushAfter since the last one', async () => {
    const { sent, add } = fakeSender()
    add(3)
    await vi.advanceTimersByTimeAsync(400)
    add(1)
    await vi.advanceTimersByTimeAsync(599)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent.slice(1)).toEqual([{ at: 1_000, ids: ['3'] }])
  })

  test('at once if flushAfter has passed before the call', async () => {
    const { sent, add } = fakeSender()
    add(3)
    await vi.advanceTimersByTimeAsync(1_500)
    add(2)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent.slice(1)).toEqual([{ at: 1_500, ids: range(3, 5) }])
  })

  test('with all calls of one turn, even above flushAt', async () => {
    const { sent, add } = fakeSender()
    add(50)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([{ at: 0, ids: range(0, 50) }])
  })

  test('when a full batch is waiting, even if flushAt is higher', async () => {
    const { sent, add } = fakeSender({ flushAt: 1_000 })
    add(16, 32_768)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ ids }) => ids.length)).toEqual([15, 1])
  })

  test('when 2,500 calls are waiting, even if flushAt is higher', async () => {
    const { sent, add } = fakeSender({ flushAt: 10_000, maxQueue: 10_000 })
    add(2_499)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([])
    add(1)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ ids }) => ids.length)).toEqual([2_500])
  })

  test('with all others that are waiting when flushAt is reached', async () => {
    const { sent, add } = fakeSender({ maxQueue: 10_000 })
    add(5_001)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ ids }) => ids.length)).toEqual([2_500, 2_500, 1])
  })

  test('without calls made during the request', async () => {
    const { sent, add } = fakeSender({ flushAt: 1_000, takesMs: 10 })
    add(16, 32_768)
    await vi.advanceTimersByTimeAsync(5)
    add(15, 32_768)
    await vi.advanceTimersByTimeAsync(500)
    expect(sent.map(({ ids }) => ids.length)).toEqual([15, 15])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(sent.map(({ ids }) => ids.length)).toEqual([15, 15, 1])
  })

  test('call by call with flushAt 1', async () => {
    const { sent, add } = fakeSender({ flushAt: 1 })
    add(3)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ ids }) => ids)).toEqual([['0'], ['1'], ['2']])
  })

  test('when the queue is full, because no further call can make it due', async () => {
    const { sent, add } = fakeSender({ flushAt: 50, maxQueue: 5 })
    add(5)
    expect(() => add(1)).toThrow(expect.objectContaining({ code: 'queue_full' }))
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([{ at: 0, ids: range(0, 5) }])
  })
})

describe('while a batch is being sent', () => {
  test('the next one grows, and is sent afterwards', async () => {
    const { sent, add } = fakeSender({ takesMs: 200 })
    add(3)
    await vi.advanceTimersByTimeAsync(50)
    add(2)
    await vi.advanceTimersByTimeAsync(50)
    add(5)
    await vi.advanceTimersByTimeAsync(99)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent[1]).toEqual({ at: 200, ids: range(3, 10) })
  })

  test('calls below flushAt wait for flushAfter from the start of the last one', async () => {
    const { sent, add } = fakeSender({ takesMs: 200 })
    add(3)
    await vi.advanceTimersByTimeAsync(50)
    add(1)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(sent[1]).toEqual({ at: 1_000, ids: ['3'] })
  })

  test('a flush waits for all current calls, and not for later ones', async () => {
    const { sender, sent, add } = fakeSender({ takesMs: 200 })
    add(3)
    await vi.advanceTimersByTimeAsync(50)
    add(1)
    let flushedAt = 0
    void sender.flush().then(() => {
      flushedAt = performance.now()
    })
    const start = performance.now() - 50
    await vi.advanceTimersByTimeAsync(175)
    add(1)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(flushedAt - start).toBe(400)
    expect(sent.map(({ ids }) => ids)).toEqual([range(0, 3), ['3'], ['4']])
  })
})

test('a flush of nothing resolves at once', async () => {
  const { sender, sent } = fakeSender()
  await sender.flush()
  expect(sent).toEqual([])
})

describe('an unfinished report', () => {
  test('is awaited by each flush, and does not delay the next batch', async () => {
    const { promise, resolve: take } = Promise.withResolvers<void>()
    const report = vi.fn(async () => {}).mockReturnValueOnce(promise)
    const { sender, sent, add } = fakeSender({ outcome: refused, report })
    const flushed: string[] = []
    add(3)
    void sender.flush().then(() => flushed.push('first'))
    await vi.advanceTimersByTimeAsync(0)
    add(3)
    void sender.flush().then(() => flushed.push('second'))
    await vi.advanceTimersByTimeAsync(10_000)
    expect([sent.length, report.mock.calls.length]).toEqual([2, 2])
    expect(flushed).toEqual([])
    take()
    await vi.advanceTimersByTimeAsync(0)
    expect(flushed).toEqual(['first', 'second'])
  })

  test('keeps its calls counted, by number and bytes, until it is finished', async () => {
    const { promise, resolve: take } = Promise.withResolvers<void>()
    const { sender, sent, add } = fakeSender({ outcome: refused, report: () => promise, maxQueue: 3 })
    add(3)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toHaveLength(1)
    expect(() => add(1)).toThrow(
      expect.objectContaining({
        code: 'queue_full',
        message: expect.stringContaining('3 calls (maxQueue), including 3 calls held by onFailure'),
      }),
    )
    const added = sender.room().then(() => add(1))
    take()
    await added
  })

  test('is no longer awaited after stopWaitingForReports, nor is any later one', async () => {
    const { sender, add } = fakeSender({ outcome: refused, report: () => new Promise(() => {}) })
    add(3)
    const first = sender.flush()
    await vi.advanceTimersByTimeAsync(0)
    sender.stopWaitingForReports()
    await first
    add(3)
    const second = sender.flush()
    await vi.advanceTimersByTimeAsync(0)
    await second
  })
})

describe('room', () => {
  test('resolves at once if there is room', async () => {
    await fakeSender().sender.room()
  })

  test('resolves after a batch, for only as many callers as there is room for', async () => {
    const { sender, add } = fakeSender({ flushAt: 1, maxQueue: 2, takesMs: 100 })
    add(2)
    const taken: number[] = []
    for (const caller of [1, 2, 3])
      void sender.room().then(() => {
        add(1)
        taken.push(caller)
      })
    await vi.advanceTimersByTimeAsync(100)
    expect(taken).toEqual([1])
    await vi.advanceTimersByTimeAsync(100)
    expect(taken).toEqual([1, 2])
    await vi.advanceTimersByTimeAsync(100)
    expect(taken).toEqual([1, 2, 3])
  })

  test('resolves for only as many simultaneous callers as there is room for', async () => {
    const { sender, sent, add } = fakeSender({ flushAt: 1, maxQueue: 3 })
    const callers = Array.from({ length: 20 }, () => sender.room().then(() => add(1)))
    await Promise.all(callers)
    await sender.flush()
    expect(sent.flatMap(({ ids }) => ids)).toEqual(range(0, 20))
  })

  test('may be used by any call in the same turn, then goes to the next waiter', async () => {
    const { sender, add } = fakeSender({ maxQueue: 1 })
    const order: string[] = []
    const idle = sender.room().then(() => order.push('idle'))
    const next = sender.room().then(() => {
      order.push('next')
      add(1)
    })
    await idle
    await Promise.resolve()
    expect(order).toEqual(['idle'])
    await next
  })

  test('makes waiting calls due while someone waits for it', async () => {
    const { sender, sent, add } = fakeSender({ flushAt: 50, maxQueue: 100, maxQueueBytes: 40_000 })
    const both = [sender.room(), sender.room()]
    await both[0]
    add(1, 32_000)
    await vi.advanceTimersByTimeAsync(0)
    await both[1]
    expect(sent.map(({ ids }) => ids)).toEqual([['0']])
  })

  test('resolves for all once the queue is empty, whether they call or not', async () => {
    const { sender, add } = fakeSender({ maxQueue: 2 })
    add(2)
    const rooms = Array.from({ length: 10 }, () => sender.room())
    await vi.advanceTimersByTimeAsync(0)
    await Promise.all(rooms)
  })
})

test('an error within the library fails the batch, and the next one is sent', async () => {
  const reported: unknown[] = []
  const settings = { flushAt: 1, flushAfter: 1_000, maxQueue: 10, maxQueueBytes: 100_000 }
  const cause = new Error('out of memory')
  const deliver = vi.fn(async () => taken)
  deliver.mockRejectedValueOnce(cause)
  const sender = new Sender({
    queue: new Queue(settings),
    deliver,
    report: async (_calls, failed) => void reported.push(...failed),
    debug: undefined,
    settings,
  })
  sender.add(call(0, 100))
  sender.add(call(1, 100))
  await vi.advanceTimersByTimeAsync(0)
  expect(deliver).toHaveBeenCalledTimes(2)
  expect(reported).toEqual([
    {
      error: expect.objectContaining({ code: 'gave_up', cause }),
      calls: [call(0, 100)],
    },
  ])
})
