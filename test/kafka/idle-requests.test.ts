import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { aQueue, aRequest } from '../helpers/kafkajs.ts'

const SECOND = 1_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a connection without open requests does not poll', () => {
  const queue = aQueue()
  const request = aRequest(1)
  queue.push(request)
  queue.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 })
  expect(request.entry.resolve).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)
})

test('connections share one timer for their timeouts, and none is left when all are closed', () => {
  const queues = [aQueue(), aQueue()]
  for (const queue of queues) queue.scheduleRequestTimeoutCheck()
  expect(vi.getTimerCount()).toBe(1)
  queues[0].destroy()
  expect(vi.getTimerCount()).toBe(1)
  queues[1].destroy()
  expect(vi.getTimerCount()).toBe(0)
})

test('a request without an answer times out, on each connection by its own timeout', () => {
  const [slow, fast] = [aQueue(), aQueue({ requestTimeout: 2 * SECOND })]
  const [patient, hasty] = [aRequest(1), aRequest(2)]
  for (const queue of [slow, fast]) queue.scheduleRequestTimeoutCheck()
  onTestFinished(() => [slow, fast].forEach((queue) => void queue.destroy()))
  slow.push(patient)
  fast.push(hasty)
  vi.advanceTimersByTime(1_900)
  expect(hasty.entry.reject).not.toHaveBeenCalled()
  vi.advanceTimersByTime(400)
  expect(hasty.entry.reject).toHaveBeenCalledWith(
    expect.objectContaining({ name: 'KafkaJSRequestTimeoutError' }),
  )
  expect(patient.entry.reject).not.toHaveBeenCalled()
  vi.advanceTimersByTime(8 * SECOND)
  expect(patient.entry.reject).toHaveBeenCalledOnce()
})

test('a closed connection is no longer checked', () => {
  const queue = aQueue({ isConnected: () => false })
  queue.scheduleRequestTimeoutCheck()
  vi.advanceTimersByTime(SECOND)
  expect(vi.getTimerCount()).toBe(0)
})

test('a request that waits for another is sent when the other is answered', () => {
  const queue = aQueue({ maxInFlightRequests: 1 })
  const [first, second] = [aRequest(1), aRequest(2)]
  queue.push(first)
  queue.push(second)
  vi.advanceTimersByTime(SECOND)
  expect(second.sendRequest).not.toHaveBeenCalled()
  queue.fulfillRequest({ correlationId: 1, payload: Buffer.alloc(0), size: 0 })
  expect(second.sendRequest).toHaveBeenCalledOnce()
})

test("waiting requests are sent when a broker's throttling ends, even if it was extended; then polling stops", () => {
  const queue = aQueue()
  const held = [aRequest(1), aRequest(2)]
  const sent = () => held.filter(({ sendRequest }) => sendRequest.mock.calls.length > 0)
  queue.maybeThrottle(2 * SECOND)
  for (const request of held) queue.push(request)
  vi.advanceTimersByTime(SECOND)
  queue.maybeThrottle(3 * SECOND)
  vi.advanceTimersByTime(2_999)
  expect(sent()).toEqual([])
  vi.advanceTimersByTime(20)
  expect(sent()).toEqual(held)
  vi.advanceTimersByTime(20)
  expect(vi.getTimerCount()).toBe(0)
})

test('a request is sent even if the throttling ended while it was queued', () => {
  const queue = aQueue()
  vi.spyOn(queue, 'canSendSocketRequestImmediately').mockReturnValueOnce(false)
  const request = aRequest(1)
  queue.push(request)
  vi.advanceTimersByTime(20)
  expect(request.sendRequest).toHaveBeenCalledOnce()
})

test('throttled requests are sent after the throttling, in order, including the last one', () => {
  const queue = aQueue()
  const sent: number[] = []
  const held = [1, 2, 3].map((id) => ({ ...aRequest(id), sendRequest: () => sent.push(id) }))
  queue.push(aRequest(9))
  queue.maybeThrottle(5 * SECOND)
  queue.fulfillRequest({ correlationId: 9, payload: Buffer.alloc(0), size: 0 })
  queue.push(held[0])
  vi.advanceTimersByTime(3 * SECOND)
  queue.push(held[1])
  vi.advanceTimersByTime(1_999)
  queue.push(held[2])
  expect(sent).toEqual([])
  vi.advanceTimersByTime(20)
  expect(sent).toEqual([1, 2, 3])
})
