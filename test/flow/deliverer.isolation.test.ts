import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEAD } from '../../schemas/topics.ts'
import { readAll } from '../helpers/cluster.ts'
import { deliveredAt } from '../helpers/delivered.ts'
import { type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const SLOTS = 16
const TIMEOUT_MS = 5_000
/** For each silent webhook: together more than a partition may have unsettled, ahead of the others' calls. */
const FLOOD = 1_000
const calls = ['h0', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7', 'h8', 'h9']

/** Each has its own origin. */
let silent: Receiver[]
let healthy: Receiver[]
let sluice: System

beforeAll(async () => {
  silent = await Promise.all(Array.from({ length: 2 }, () => startReceiver()))
  healthy = await Promise.all(Array.from({ length: 8 }, () => startReceiver()))
  sluice = await startSystem({
    DELIVERY_SLOTS: String(SLOTS),
    RESPONSE_TIMEOUT: `${TIMEOUT_MS}ms`,
    RETRY_LADDER: '1s,2s,4s,8s,16s,1m,1m,1m,1m,1m',
  })
  for (const name of ['flood', 'calls'])
    await sluice.api('post', 'sources', { id: name, name, writeKey: `${name}-write-key` })
  for (const [index, { url }] of silent.entries())
    await sluice.destination(`silent-${index}`, [`${url}/hang`], { sourceIds: ['flood', 'calls'] })
  for (const [index, { url }] of healthy.entries())
    await sluice.destination(`healthy-${index}`, [`${url}/`], { sourceIds: ['calls'] })
})

afterAll(async () => {
  await sluice?.close()
  await Promise.all([...(silent ?? []), ...(healthy ?? [])].map((receiver) => receiver.close()))
})

test('webhooks that never answer do not delay others, even with more deliveries than slots', async () => {
  for (let from = 0; from < FLOOD; from += 500)
    await sluice.send(tracks('flood', from, 500), 'flood-write-key')
  for (const id of calls) await sluice.send([track(id)], 'calls-write-key')
  const arrived = healthy.map(deliveredAt)
  const missing = () => calls.flatMap((id) => arrived.filter((has) => !has('/', id))).length
  await until(() => missing() === 0, {
    // if silent webhooks held the slots for 5 s each, the calls ahead would take ten minutes
    timeout: 30_000,
    message: () =>
      `the healthy have all of theirs: ${missing()} of ${calls.length * healthy.length} are missing`,
  })

  // nor were the silent ones given up
  const tried = silent.map(
    ({ arrivals }) => new Set(arrivals.map(({ headers }) => headers['x-delivery-id'])).size,
  )
  for (const count of tried) {
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThan(FLOOD)
  }
  expect(await readAll(sluice.connection, DEAD)).toEqual([])
})

const track = (messageId: string, userId = `u-${messageId}`) => ({
  type: 'track',
  userId,
  event: 'Paid',
  messageId,
})

const tracks = (name: string, from: number, count: number) =>
  Array.from({ length: count }, (_, index) => track(`${name}-${from + index}`))
