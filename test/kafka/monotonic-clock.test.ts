import { createRequire } from 'node:module'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import '../../kafka/client.ts' // has the client measure so
import { bySteps, setClock } from '../helpers/clock.ts'
import { aMember, aQueue, aRequest, quiet } from '../helpers/kafkajs.ts'

const require = createRequire(import.meta.url)
const BrokerPool = require('kafkajs/src/cluster/brokerPool')

const SECOND = 1_000
const MINUTE = 60 * SECOND

beforeEach(() => void vi.useFakeTimers({ now: 2_000_000_000_000 }))
afterEach(() => void vi.useRealTimers())

bySteps('a member whose clock is set %s sends its heartbeats as before', async ([_, byMs]) => {
  const heartbeat = vi.fn(async () => {})
  const group = aMember()
  Object.assign(group, { coordinator: { heartbeat }, memberId: 'me', generationId: 1 })
  const beats = async () => {
    await group.heartbeat({ interval: SECOND })
    return heartbeat.mock.calls.length
  }
  vi.advanceTimersByTime(SECOND)
  expect(await beats()).toBe(1)
  setClock(byMs)
  vi.advanceTimersByTime(SECOND - 1)
  expect(await beats()).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await beats()).toBe(2)
})

bySteps('a request runs out after its time when the clock is set %s meanwhile', ([_, byMs]) => {
  const requests = aQueue()
  const asked = aRequest()
  requests.scheduleRequestTimeoutCheck()
  requests.push(asked)
  setClock(byMs)
  vi.advanceTimersByTime(10 * SECOND)
  expect(asked.entry.reject).not.toHaveBeenCalled()
  vi.advanceTimersByTime(SECOND)
  expect(asked.entry.reject).toHaveBeenCalledOnce()
  requests.destroy()
})

bySteps('a client that is to send less waits no longer when the clock is set %s', ([_, byMs]) => {
  const requests = aQueue()
  const asked = aRequest()
  requests.maybeThrottle(5 * SECOND)
  requests.push(asked)
  setClock(byMs)
  vi.advanceTimersByTime(4 * SECOND)
  expect(asked.sendRequest).not.toHaveBeenCalled()
  vi.advanceTimersByTime(2 * SECOND)
  expect(asked.sendRequest).toHaveBeenCalledOnce()
  requests.destroy()
})

bySteps(
  'what a client knows of its brokers is as old as it is when the clock is set %s',
  async ([_, byMs]) => {
    const pool = new BrokerPool({ connectionPoolBuilder: {}, logger: quiet, metadataMaxAge: 5 * MINUTE })
    pool.metadata = { topicMetadata: [] }
    pool.metadataExpireAt = Date.now() + 5 * MINUTE
    pool.refreshMetadata = vi.fn()
    setClock(byMs)
    vi.advanceTimersByTime(5 * MINUTE - SECOND)
    await pool.refreshMetadataIfNecessary([])
    expect(pool.refreshMetadata).not.toHaveBeenCalled()
    vi.advanceTimersByTime(2 * SECOND)
    await pool.refreshMetadataIfNecessary([])
    expect(pool.refreshMetadata).toHaveBeenCalledOnce()
  },
)
