import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { groupsOf } from '../../../harness/kafka/topics.ts'
import { type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { listen, type Stream } from '../../helpers/sse.ts'
import { until } from '../../helpers/until.ts'
import { sluice, VIEW } from './system.ts'

const GROUP = 'tail.events+events.rejected.'

let receiver: Receiver
let send: (calls: object[]) => Promise<void>

beforeAll(async () => {
  receiver = await startReceiver()
  send = await source('live')
  await sluice.destination('live', [`${receiver.url}/flaky/1`], { sourceIds: ['live'] })
})
afterAll(() => receiver?.close())

async function watch(source = 'live'): Promise<Stream> {
  const stream = await listen(`${sluice.control}/api/sources/${source}/live`, VIEW)
  expect(stream.status).toBe(200)
  await until(() => stream.of('ready').length === 1, { message: () => stream.text() })
  return stream
}

async function source(id: string): Promise<(calls: object[]) => Promise<void>> {
  await sluice.api('post', 'sources', { id, name: id, writeKey: `${id}-write-key` })
  return (calls) => sluice.send(calls, `${id}-write-key`)
}

const track = (messageId: string, more: object = {}) => ({
  type: 'track',
  userId: 'u1',
  event: 'Paid',
  messageId,
  ...more,
})

const messageIds = (stream: Stream, event = 'call') => stream.of(event).map(({ messageId }) => messageId)

const groups = () => groupsOf(sluice.connection, GROUP)

const metric = async (name: string) =>
  new RegExp(`^${name} (.*)$`, 'm').exec(await (await fetch(`${sluice.control}/metrics`)).text())?.[1]

test('without watchers no calls are read', async () => {
  await send([track('before')])
  expect(await groups()).toEqual([])
})

test('a new watcher gets the latest calls with their results, then each new call', async () => {
  await until(() => receiver.arrivals.filter(({ status }) => status === 200).length === 1)
  const stream = await watch()
  expect(stream.text()).toMatch(/^retry: 2000\n\n/)
  expect(stream.headers.get('content-type')).toContain('text/event-stream')
  await until(() => stream.of('attempt').length === 2)
  expect(stream.told[0]).toMatchObject({
    event: 'call',
    id: expect.stringMatching(/^events\/\d\/\d+$/),
    data: { messageId: 'before', type: 'track', userId: 'u1', event: 'Paid', receivedAt: expect.any(String) },
  })
  await send([track('after', { properties: { total: 1.5 } }), { type: 'track', event: 'Nobody' }])
  // calls and attempts are read separately
  await until(() => stream.of('attempt').length === 4 && stream.of('rejected').length === 1, {
    message: () => stream.text(),
  })
  expect(stream.of('call')[1]).toMatchObject({ messageId: 'after', properties: { total: 1.5 } })
  expect(stream.of('rejected')).toMatchObject([
    { code: 'no_user_or_anonymous_id', raw: expect.stringContaining('Nobody') },
  ])
  expect(stream.of('attempt').slice(2)).toMatchObject([
    { messageId: 'after', destinationId: 'live', attempt: 1, outcome: 'retry', status: 503 },
    { messageId: 'after', destinationId: 'live', attempt: 2, outcome: 'delivered', status: 200 },
  ])
  expect(await metric('sluice_control_live_watchers')).toBe('1')
})

test('each watcher sees only calls of its source', async () => {
  const [sendA, sendB] = [await source('live-a'), await source('live-b')]
  await sendA([track('a1')])
  const [a, b, alsoA] = await Promise.all([watch('live-a'), watch('live-b'), watch('live-a')])
  await sendB([track('b1')])
  await sendA([track('a2')])
  for (const [stream, expected] of [
    [a, ['a1', 'a2']],
    [b, ['b1']],
    [alsoA, ['a1', 'a2']],
  ] as const)
    await until(() => String(messageIds(stream)) === String(expected), { message: () => stream.text() })
})

test('the stream of a source ends when the source is deleted, with the reason', async () => {
  await source('live-gone')
  const [stream, other] = [await watch('live-gone'), await watch()]
  await sluice.api('delete', 'sources/live-gone')
  await until(() => stream.hasEnded(), { message: () => stream.text() })
  expect(stream.told.at(-1)).toMatchObject({
    event: 'ended',
    data: { code: 'source_deleted', message: 'Source live-gone was deleted' },
  })
  expect(other.hasEnded()).toBe(false)
})

test('a write key inside a call is not shown', async () => {
  const stream = await watch()
  const json = { writeKey: 'live-write-key', event: 'Paid', messageId: 'with-key' }
  await fetch(`${sluice.ingest}/v1/track`, { method: 'POST', body: JSON.stringify(json) })
  const raw = await until(() =>
    stream
      .of('rejected')
      .map((each) => String(each.raw))
      .find((each) => each.includes('with-key')),
  )
  expect(raw).toContain('"writeKey":"***"')
  expect(stream.text()).not.toContain('live-write-key')
})

test('a part of very many calls is shown, with the number left out', async () => {
  const sendMany = await source('live-busy')
  const stream = await watch('live-busy')
  const total = 3_000
  for (let from = 0; from < total; from += 500)
    await sendMany(Array.from({ length: 500 }, (_, index) => track(`m${from + index}`)))
  const skipped = () => stream.of('skipped').reduce((sum, { count }) => sum + Number(count), 0)
  await until(() => stream.of('call').length + skipped() === total, {
    message: () => `${stream.of('call').length} shown and ${skipped()} skipped of ${total}`,
  })
  expect(stream.of('call').length).toBeGreaterThanOrEqual(100)
  expect(skipped()).toBeGreaterThan(0)
  expect(await metric('sluice_control_live_skipped_total{reason="rate"}'.replace(/[{}]/g, '\\$&'))).toBe(
    String(skipped()),
  )
})

test('twenty watchers are admitted, and others when they have left', async () => {
  // the previous test's watcher may leave a moment later
  await until(async () => (await metric('sluice_control_live_watchers')) === '0')
  const url = `${sluice.control}/api/sources/live/live`
  const tokens = [...Array(15).fill(VIEW), ...Array(5).fill(String(sluice.env.CONTROL_TOKEN))]
  const streams = await Promise.all(tokens.map((token) => listen(url, token)))
  expect(streams.map(({ status }) => status)).toEqual(Array(20).fill(200))
  const authorization = `Bearer ${VIEW}`
  const refused = await fetch(url, { headers: { authorization } })
  expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'too_many_watchers' }])
  streams[0]?.close()
  await until(async () => (await metric('sluice_control_live_watchers')) === '19')
  const last = await listen(url, tokens.at(-1))
  expect(last.status).toBe(200)
  for (const stream of [...streams, last]) stream.close()
  await until(async () => (await metric('sluice_control_live_watchers')) === '0')
})

test('calls are no longer read some time after the last watcher has left', async () => {
  const stream = await watch()
  expect(await groups()).toHaveLength(1)
  stream.close()
  await until(async () => (await metric('sluice_control_live_watchers')) === '0')
  await until(async () => (await groups()).length === 0)
})

test('a clean shutdown ends the streams and their consumers', async () => {
  onTestFinished(() => sluice.start('control'))
  const stream = await watch()
  expect(await sluice.stop('control')).toBe(0)
  await until(stream.hasEnded)
  expect(await groups()).toEqual([])
})
