import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { rungs } from '../../deliverer/rungs.ts'
import type { Room } from '../../kafka/admin/storage.ts'
import type { ConsumerRecord, Message } from '../../kafka/consume/record.ts'
import type { OutRecord } from '../../kafka/produce/produce.ts'
import { DUE, rungTopic } from '../../schemas/topics.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const NOW = 2_000_000_000_000

beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

type Met = { writtenAt: number; dueAt: number; queuedBytes?: number; shortage?: Room }

async function met(name: string, { writtenAt, dueAt, queuedBytes = 0, shortage }: Met) {
  const written: OutRecord[] = []
  const settle = vi.fn()
  const produce = async (records: readonly OutRecord[]) => {
    written.push(...records)
    return 'acked' as const
  }
  const handle = rungs({ produce, queuedBytes: () => queuedBytes }, { shortage: () => shortage })
  const value = Buffer.from('a delivery')
  const record = { topic: rungTopic(name), timestamp: writtenAt, key: 'crm u1', value, settle }
  const headers = { dueAt: Buffer.from(String(dueAt)), traceparent: Buffer.from('00-1-2-01') }
  // a rung takes no more than this of a record and its message
  const held = handle(record as unknown as ConsumerRecord<Buffer>, { headers } as unknown as Message)
  await new Promise(setImmediate)
  const [moved] = written
  return { held, moved, settled: settle.mock.calls.length }
}

const at = (writtenAt: number, delayMs: number) => ({ writtenAt, dueAt: writtenAt + delayMs })

test('a record that is not due is held until then', async () => {
  const { held, moved, settled } = await met('5m', at(NOW - MINUTE, 5 * MINUTE))
  expect(held).toEqual({ holdUntil: NOW + 4 * MINUTE })
  expect([moved, settled]).toEqual([undefined, 0])
})

test('a due record is moved unchanged, and settled when it is written', async () => {
  const { held, moved, settled } = await met('5m', at(NOW - 5 * MINUTE, 5 * MINUTE))
  expect(held).toBeUndefined()
  expect(moved).toMatchObject({ topic: DUE, key: 'crm u1', value: Buffer.from('a delivery') })
  expect(Object.keys(moved?.headers ?? {})).toEqual(['traceparent'])
  expect(settled).toBe(1)
})

test('a due record stays in Kafka while much waits to be written, so an outage fills no memory', async () => {
  const due = at(NOW - 5 * MINUTE, 5 * MINUTE)
  const { held, moved, settled } = await met('5m', { ...due, queuedBytes: 33 * 1024 * 1024 })
  expect(held).toEqual({ holdUntil: NOW + 100 })
  expect([moved, settled]).toEqual([undefined, 0])
})

test('a due record stays on its rung while Kafka is short of storage, because a failed retry would write it again', async () => {
  const shortage = { of: 'disk', free: 1, reserve: 2 } as const
  const { held, moved, settled } = await met('5m', { ...at(NOW - 5 * MINUTE, 5 * MINUTE), shortage })
  expect(held).toEqual({ holdUntil: NOW + SECOND })
  expect([moved, settled]).toEqual([undefined, 0])
})

test.each([
  ['by a clock that is ahead', 10 * MINUTE],
  ['before the clock here was set back by more than the rung is long', 7 * MINUTE],
])("a record written %s waits for its rung's delay again, at the end of the rung", async (_, aheadMs) => {
  const { held, moved, settled } = await met('5m', at(NOW + aheadMs, 5 * MINUTE))
  expect(held).toBeUndefined()
  expect(moved).toMatchObject({ topic: rungTopic('5m'), key: 'crm u1', value: Buffer.from('a delivery') })
  expect(moved?.headers).toMatchObject({ dueAt: String(NOW + 5 * MINUTE), traceparent: expect.anything() })
  expect(settled).toBe(1)
  const again = await met('5m', { writtenAt: NOW, dueAt: Number(moved?.headers?.dueAt) })
  expect(again.held).toEqual({ holdUntil: NOW + 5 * MINUTE })
})

test("a record whose time is beyond its rung's delay holds the partition for that delay only", async () => {
  const { held } = await met('5m', { writtenAt: NOW - MINUTE, dueAt: NOW + 60 * MINUTE })
  expect(held).toEqual({ holdUntil: NOW + 4 * MINUTE + SECOND })
  const { moved } = await met('5m', { writtenAt: NOW - 6 * MINUTE, dueAt: NOW + 60 * MINUTE })
  expect(moved?.topic).toBe(DUE)
})

test('small clock differences do not restart a wait', async () => {
  expect((await met('5s', at(NOW + SECOND, 5 * SECOND))).held).toEqual({ holdUntil: NOW + 6 * SECOND })
})

test("a rung without a delay in its name uses its records' times", async () => {
  expect((await met('later', at(NOW, 10 * MINUTE))).held).toEqual({ holdUntil: NOW + 10 * MINUTE })
})

test.each([
  ['no time', Number.NaN],
  ['one before which the record itself is gone', NOW + 365 * 24 * 60 * MINUTE],
])('a record with %s is due at once', async (_, dueAt) => {
  expect((await met('5m', { writtenAt: NOW, dueAt })).moved?.topic).toBe(DUE)
})
