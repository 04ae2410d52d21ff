import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { until } from '../../helpers/until.ts'
import { delivererFollows, sluice } from './system.ts'

let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  await sluice.api('post', 'sources', { id: 'rejected', name: 'Rejected', writeKey: 'rejected-write-key' })
})
afterAll(() => receiver?.close())

const destination = (id: string, webhooks: string[]) =>
  sluice.destination(id, webhooks, { sourceIds: ['rejected'] })
const send = (messageId: string) => sluice.send([track(messageId)], 'rejected-write-key')
const track = (messageId: string) => ({ type: 'track', userId: 'u1', event: 'Paid', messageId })
const statuses = (path: string, messageId: string) =>
  receiver.arrivals
    .filter((each) => each.path === path && each.headers['x-message-id'] === messageId)
    .map(({ status }) => status)

const dead = async (destinationId: string) => {
  const { body } = await sluice.api('get', `dead?destinationId=${destinationId}`)
  return (body.items ?? []) as Record<string, unknown>[]
}

test('a rejected event becomes a dead letter with its body, is not retried, and can be replayed to the corrected URL', async () => {
  await destination('rejects', [`${receiver.url}/status/404`])
  await send('m-1')
  const [letter] = await until(async () => {
    const letters = await dead('rejects')
    return letters.length > 0 && letters
  })
  expect(letter).toMatchObject({
    messageId: 'm-1',
    reason: 'rejected',
    attempts: [{ outcome: 'rejected', status: 404, code: 'http_404' }],
  })
  expect(String(JSON.stringify(letter?.body))).toContain('Paid')

  const health = await until(async () => {
    const { body } = await sluice.api('get', 'destinations/rejects/health')
    return (body.endpoints as { state: string }[])[0]?.state === 'rejecting' && body
  })
  expect(health).toMatchObject({
    endpoints: [{ breaker: 'closed', lastError: { status: 404 }, lastDeliveredAt: null }],
  })

  const { body: settings } = await sluice.api('get', 'destinations/rejects')
  const { id: _, version, updatedAt: __, ...rest } = settings
  const put = await sluice.api(
    'put',
    'destinations/rejects',
    { ...rest, webhooks: [{ url: `${receiver.url}/corrected` }] },
    { 'if-match': String(version) },
  )
  expect(put.status).toBe(200)
  await delivererFollows()
  expect(
    await sluice.api('post', 'replays', { destinationId: 'rejects', what: 'dead', reason: 'rejected' }),
  ).toMatchObject({
    status: 202,
  })
  await until(() => statuses('/corrected', 'm-1').includes(200))
  expect(statuses('/status/404', 'm-1')).toEqual([404])
})

test('a URL that rejects is not retried while the other URL of the destination is', async () => {
  receiver.answerWith(503)
  await destination('rejects-once', [`${receiver.url}/status/410`, `${receiver.url}/switch`])
  await send('t-1')
  await until(() => statuses('/switch', 't-1').length >= 2)
  receiver.answerWith(200)
  await until(() => statuses('/switch', 't-1').includes(200))
  expect(statuses('/status/410', 't-1')).toEqual([410])
  expect(await dead('rejects-once')).toEqual([])
})
