import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { deliveredAt } from '../../harness/arrivals.ts'
import { DEAD } from '../../schemas/topics.ts'
import { readAll } from '../helpers/cluster.ts'
import { readAttempts } from '../helpers/decoded.ts'
import type { Receiver } from '../helpers/receiver.ts'
import { aReceiver, type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

/**
 * More than all slots and the queue of a webhook in trouble hold. Twice this is more than a partition may have
 * unsettled.
 */
const FLOOD = 1_000
const BURST = 3_000
const BATCH = 500
const few = Array.from({ length: 20 }, (_, index) => `few-${index}`)

/** At the end of a test its receivers close, which ends the POSTs that hang: the next test has all slots. */
let sluice: System

beforeAll(async () => {
  sluice = await startSystem({
    DELIVERY_SLOTS: '16',
    // a webhook that hangs holds its slots for the whole test
    RESPONSE_TIMEOUT: '60s',
    RETRY_LADDER: '1s,2s,4s,8s,16s,1m,1m,1m,1m,1m',
  })
})

afterAll(() => sluice?.close())

test('webhooks that never answer do not delay others, even with more deliveries than slots', async () => {
  const calls = Array.from({ length: 10 }, (_, index) => `h${index}`)
  // each has its own origin
  const silent = await Promise.all(Array.from({ length: 2 }, aReceiver))
  const healthy = await Promise.all(Array.from({ length: 8 }, aReceiver))
  for (const name of ['flood', 'calls'])
    await sluice.api('post', 'sources', { id: name, name, writeKey: keyOf(name) })
  const destination = async (id: string, url: string, sourceIds: string[]) => {
    await sluice.destination(id, [url], { sourceIds })
    onTestFinished(async () => void (await sluice.api('delete', `destinations/${id}`)))
  }
  for (const [index, { url }] of silent.entries())
    await destination(`silent-${index}`, `${url}/hang`, ['flood', 'calls'])
  for (const [index, { url }] of healthy.entries())
    await destination(`healthy-${index}`, `${url}/`, ['calls'])
  await flood('flood')
  for (const id of calls) await sluice.send([track(id)], keyOf('calls'))
  const arrived = healthy.map(deliveredAt)
  const missing = () => calls.flatMap((id) => arrived.filter((has) => !has('/', id))).length
  await until(() => missing() === 0, {
    // if silent webhooks held the slots, the calls ahead would take two hours
    timeout: 60_000,
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

test.each([
  ['hangs', 'hang'],
  ['answers 500', 'status/500'],
  ['resets', 'reset'],
])('a webhook that %s does not delay others on its host', async (_, path) => {
  const receiver = await aReceiver()
  const [bad, healthy] = [`bad-${path.replace('/', '-')}`, `healthy-beside-${path.replace('/', '-')}`]
  await source(bad, [`${receiver.url}/${path}`])
  await source(healthy, [`${receiver.url}/healthy`])

  await flood(bad)
  await until(() => receiver.arrivals.some((arrival) => arrival.path === `/${path}`))
  for (const id of few) await sluice.send([track(id)], keyOf(healthy))

  await allAt(receiver, '/healthy', few)
  expect((await readAll(sluice.connection, DEAD)).filter(({ key }) => key === healthy)).toEqual([])
  const outcomes = (await readAttempts(sluice, healthy)).map(({ outcome }) => outcome)
  expect(outcomes.filter((outcome) => outcome !== 'delivered')).toEqual([])
})

test('a webhook gets every event while another one of its destination on the same host hangs', async () => {
  const receiver = await aReceiver()
  await source('one-of-two', [`${receiver.url}/hang`, `${receiver.url}/healthy`])
  const ids = await flood('one-of-two')
  await allAt(receiver, '/healthy', ids)
})

test('two destinations with the same URL each get their events', async () => {
  const receiver = await aReceiver()
  for (const name of ['same-1', 'same-2']) await source(name, [`${receiver.url}/same`])
  const idsOf = (name: string) => few.map((id) => `${name}-${id}`)
  for (const name of ['same-1', 'same-2']) await sluice.send(idsOf(name).map(track), keyOf(name))
  await allAt(receiver, '/same', [...idsOf('same-1'), ...idsOf('same-2')])
})

test('each webhook of a destination gets each event of a burst, with the same delivery id', async () => {
  const receiver = await aReceiver()
  await source('burst', [`${receiver.url}/one`, `${receiver.url}/other`])
  const ids = await flood('burst', BURST)
  const deliveriesAt = (path: string) =>
    new Set(
      receiver.arrivals
        .filter((arrival) => arrival.path === path)
        .map(({ headers }) => headers['x-delivery-id']),
    )
  await until(() => deliveriesAt('/one').size === BURST && deliveriesAt('/other').size === BURST, {
    timeout: 60_000,
    message: () => `each path has ${BURST}: ${deliveriesAt('/one').size} and ${deliveriesAt('/other').size}`,
  })
  await allAt(receiver, '/one', ids)
  await allAt(receiver, '/other', ids)
  expect(deliveriesAt('/one')).toEqual(deliveriesAt('/other'))
})

const keyOf = (name: string) => `${name}-write-key`

/** A destination with its own source, removed at the end of the test. */
async function source(name: string, urls: string[]): Promise<void> {
  await sluice.api('post', 'sources', { id: name, name, writeKey: keyOf(name) })
  await sluice.destination(name, urls, { sourceIds: [name] })
  onTestFinished(async () => void (await sluice.api('delete', `destinations/${name}`)))
}

async function flood(name: string, count = FLOOD): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${name}-${index}`)
  for (let from = 0; from < count; from += BATCH)
    await sluice.send(ids.slice(from, from + BATCH).map(track), keyOf(name))
  return ids
}

async function allAt(receiver: Receiver, path: string, ids: readonly string[]): Promise<void> {
  const has = deliveredAt(receiver)
  const missing = () => ids.filter((id) => !has(path, id))
  await until(() => missing().length === 0, {
    message: () => `${path} has all of its events: ${missing().length} of ${ids.length} are missing`,
  })
}

const track = (messageId: string) => ({ type: 'track', userId: `u-${messageId}`, event: 'Paid', messageId })
