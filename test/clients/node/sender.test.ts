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

/** A sender whose batches take the given time, in ms of the faked clock. */
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

describe('a batch goes', () => {
  test('when as many calls wait as the threshold says, and not before', async () => {
    const { sent, add } = fakeSender()
    add(2)
    await vi.advanceTimersByTimeAsync(999)
    expect(sent).toEqual([])
    add(1)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([{ at: 999, ids: range(0, 3) }])
  })

  test('when the interval has passed since the first call', async () => {
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

  test('when the interval has passed since the last one', async () => {
    const { sent, add } = fakeSender()
    add(3)
    await vi.advanceTimersByTimeAsync(400)
    add(1)
    await vi.advanceTimersByTimeAsync(599)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent.slice(1)).toEqual([{ at: 1_000, ids: ['3'] }])
  })

  test('at once when that has passed before the call came', async () => {
    const { sent, add } = fakeSender()
    add(3)
    await vi.advanceTimersByTimeAsync(1_500)
    add(2)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent.slice(1)).toEqual([{ at: 1_500, ids: range(3, 5) }])
  })

  test('with all that is called in one go, over the threshold too', async () => {
    const { sent, add } = fakeSender()
    add(50)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([{ at: 0, ids: range(0, 50) }])
  })

  test('when as much waits as a batch can hold, although the threshold is higher', async () => {
    const { sent, add } = fakeSender({ flushAt: 1_000 })
    add(16, 32_768)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ ids }) => ids.length)).toEqual([15, 1])
  })

  test('when 2,500 calls wait, although the threshold is higher', async () => {
    const { sent, add } = fakeSender({ flushAt: 10_000, maxQueue: 10_000 })
    add(2_499)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([])
    add(1)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ ids }) => ids.length)).toEqual([2_500])
  })

  test('with all others behind it that wait when the threshold is reached', async () => {
    const { sent, add } = fakeSender({ maxQueue: 10_000 })
    add(5_001)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ ids }) => ids.length)).toEqual([2_500, 2_500, 1])
  })

  test('without those behind it that come when it is on its way', async () => {
    const { sent, add } = fakeSender({ flushAt: 1_000, takesMs: 10 })
    add(16, 32_768)
    await vi.advanceTimersByTimeAsync(5)
    add(15, 32_768)
    await vi.advanceTimersByTimeAsync(500)
    expect(sent.map(({ ids }) => ids.length)).toEqual([15, 15])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(sent.map(({ ids }) => ids.length)).toEqual([15, 15, 1])
  })

  test('one by one with the threshold 1', async () => {
    const { sent, add } = fakeSender({ flushAt: 1 })
    add(3)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ ids }) => ids)).toEqual([['0'], ['1'], ['2']])
  })

  test('when the queue is full, as no call can make it due any more', async () => {
    const { sent, add } = fakeSender({ flushAt: 50, maxQueue: 5 })
    add(5)
    expect(() => add(1)).toThrow(expect.objectContaining({ code: 'queue_full' }))
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([{ at: 0, ids: range(0, 5) }])
  })
})

describe('while a batch is under way', () => {
  test('the next one grows, and goes when it is back', async () => {
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

  test('what stays below the threshold waits for the interval, from the start of the last one', async () => {
    const { sent, add } = fakeSender({ takesMs: 200 })
    add(3)
    await vi.advanceTimersByTimeAsync(50)
    add(1)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(sent[1]).toEqual({ at: 1_000, ids: ['3'] })
  })

  test('a flush waits for all that is there, and not for what comes later', async () => {
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

test('a flush of nothing is over at once', async () => {
  const { sender, sent } = fakeSender()
  await sender.flush()
  expect(sent).toEqual([])
})

describe('a report that is not taken yet', () => {
  test('is waited for by each flush, and does not hold up the next batch', async () => {
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

  test('has its calls counted until it is, by number and by bytes; then there is room', async () => {
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

  test('is not when time is short, nor any other from then on', async () => {
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
  test('is there at once, when it is there', async () => {
    await fakeSender().sender.room()
  })

  test('comes when a batch is through, for no more callers than there is room for', async () => {
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

  test('is had by no more callers than there is room for, also by those that ask at the same time', async () => {
    const { sender, sent, add } = fakeSender({ flushAt: 1, maxQueue: 3 })
    const callers = Array.from({ length: 20 }, () => sender.room().then(() => add(1)))
    await Promise.all(callers)
    await sender.flush()
    expect(sent.flatMap(({ ids }) => ids)).toEqual(range(0, 20))
  })

  test('is had by whoever calls in the same turn, and then by the next', async () => {
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

  test('does not wait for company where somebody waits for it', async () => {
    const { sender, sent, add } = fakeSender({ flushAt: 50, maxQueue: 100, maxQueueBytes: 40_000 })
    const both = [sender.room(), sender.room()]
    await both[0]
    add(1, 32_000)
    await vi.advanceTimersByTimeAsync(0)
    await both[1]
    expect(sent.map(({ ids }) => ids)).toEqual([['0']])
  })

  test('comes for all when the queue is empty, whether they call or not', async () => {
    const { sender, add } = fakeSender({ maxQueue: 2 })
    add(2)
    const rooms = Array.from({ length: 10 }, () => sender.room())
    await vi.advanceTimersByTimeAsync(0)
    await Promise.all(rooms)
  })
})

test('what fails within the library is a failure of the batch, and the next one goes', async () => {
  const reported: unknown[] = []
  const settings = { flushAt: 1, flushAfter: 1_000, maxQueue: 10, maxQueueBytes: 100_000 }
  const cause = new Error('out of memory')
  const deliver = vi.fn(async () => taken)
  deliver.mockRejectedValueOnce(cause)
  const sender = new Sender({
    queue: new Queue(settings),
    deliver,
    report: async (failures) => void reported.push(...failures),
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
      messages: [expect.objectContaining({ messageId: '0' })],
    },
  ])
})
