import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../config.ts'
import { PARKED } from '../../../kafka/produce/park.ts'
import { ATTEMPTS, DEAD, DELIVERIES, DUE, EVENTS, rungTopic, SEEN } from '../../../schemas/topics.ts'
import { readAll } from '../../helpers/cluster.ts'
import { readDeliveries } from '../../helpers/decoded.ts'
import { type Arrival, postedAgain } from '../../helpers/receiver.ts'
import { aReceiver } from '../../helpers/system.ts'
import { until } from '../../helpers/until.ts'
import { sluice } from './system.ts'

const HASH_KEY = 'a-hash-key-of-this-test'
const hashed = (text: string) => createHmac('sha256', HASH_KEY).update(text).digest('hex').slice(0, 32)

const idOf = ({ headers }: Arrival) => String(headers['x-message-id'])
const track = (messageId: string, more: object = {}) => ({
  type: 'track',
  userId: 'u1',
  event: 'Paid',
  messageId,
  ...more,
})

async function aSource(id: string): Promise<(...calls: object[]) => Promise<void>> {
  await sluice.api('post', 'sources', { id, name: id, writeKey: `${id}-write-key` })
  return (...calls) => sluice.send(calls, `${id}-write-key`)
}

type Found = { destinations: { reason: string | null; condition: string | null; state: string | null }[] }

async function found(messageId: string): Promise<Found['destinations'][number] | undefined> {
  const { body } = await sluice.api('get', `events?messageId=${messageId}`)
  const [item] = body.items as Found[]
  return item?.destinations[0]
}

async function replace(id: string, more: object): Promise<void> {
  const { body } = await sluice.api('get', `destinations/${id}`)
  const answer = await sluice.api(
    'put',
    `destinations/${id}`,
    { ...body, ...more },
    { 'if-match': String(body.version) },
  )
  expect(answer.status).toBe(200)
}

async function replay(body: object): Promise<Record<string, unknown>> {
  const { body: begun } = await sluice.api('post', 'replays', body)
  return until(async () => {
    const { body: now } = await sluice.api('get', `replays/${begun.id}`)
    return now.state !== 'running' && now
  })
}

describe('a destination with a filter', () => {
  const filter = {
    all: [
      { path: 'event', in: ['Paid', 'Refunded'] },
      { path: 'properties.total', gte: 10 },
    ],
  }

  test('gets the events that meet it, and a search names the condition that filters out the others', async () => {
    const receiver = await aReceiver()
    const send = await aSource('filtered')
    await sluice.destination('filtered', [`${receiver.url}/`], { sourceIds: ['filtered'], rules: { filter } })
    await send(
      track('filtered-1', { properties: { total: 9 } }),
      track('filtered-2', { event: 'Left', properties: { total: 10 } }),
      track('filtered-3', { properties: { total: 10 } }),
      { type: 'identify', userId: 'u1', messageId: 'filtered-4' },
      track('filtered-5', { event: 'Refunded', properties: { total: 11 } }),
    )
    await until(() => receiver.arrivals.length === 2)
    expect(receiver.arrivals.map(idOf).toSorted()).toEqual(['filtered-3', 'filtered-5'])
    const kept = { state: null, reason: 'filtered' }
    expect(await found('filtered-1')).toMatchObject({ ...kept, condition: '/filter/all/1' })
    expect(await found('filtered-2')).toMatchObject({ ...kept, condition: '/filter/all/0' })
    expect(await found('filtered-3')).toMatchObject({ reason: null, condition: null })
  })

  test('shows in a preview which recent events it would get', async () => {
    const asked = { rules: { filter }, sourceIds: ['filtered'], last: 4 }
    const { status, body } = await sluice.api('post', 'destinations/preview', asked)
    expect(status).toBe(200)
    const items = body.items as { messageId: string; outcome: string; condition: string | null }[]
    expect(items).toHaveLength(4)
    const of = new Map(items.map((item) => [item.messageId, item]))
    expect(of.get('filtered-5')).toMatchObject({ outcome: 'sent', body: expect.stringContaining('Refunded') })
    expect(of.get('filtered-2')).toMatchObject({
      outcome: 'filtered',
      condition: '/filter/all/0',
      body: null,
    })
  })

  test('gets from a backfill what it would get today', async () => {
    const receiver = await aReceiver()
    const rules = { filter: { path: 'properties.total', gt: 10 } }
    const options = { sourceIds: ['filtered'], rules }
    await sluice.destination('filtered-later', [`${receiver.url}/`], options)
    expect(await replay({ destinationId: 'filtered-later', what: 'events' })).toMatchObject({ replayed: 1 })
    await until(() => receiver.arrivals.length > 0)
    expect(receiver.arrivals.map(idOf)).toEqual(['filtered-5'])
  })
})

test('a sample by user has all events of a user or none', async () => {
  const receiver = await aReceiver()
  const send = await aSource('sampled')
  const rules = { sample: { rate: 0.5 } }
  await sluice.destination('sampled', [`${receiver.url}/`], { sourceIds: ['sampled'], rules })
  const everyone = await aReceiver()
  await sluice.destination('unsampled', [`${everyone.url}/`], { sourceIds: ['sampled'] })
  const users = Array.from({ length: 40 }, (_, each) => `sampled-user-${each}`)
  await send(
    ...users.flatMap((userId) =>
      [1, 2, 3].map((nth) => track(`sampled-${userId}-${nth}`, { userId, event: `Step ${nth}` })),
    ),
  )
  await until(() => everyone.arrivals.length === 3 * users.length)
  const of = (userId: string) =>
    receiver.arrivals.filter(({ body }) => JSON.parse(body).userId === userId).length
  await until(() => receiver.arrivals.length > 0 && users.every((userId) => of(userId) % 3 === 0))
  expect(new Set(users.map(of))).toEqual(new Set([0, 3]))
})

describe('a destination that redacts', () => {
  const secrets = ['secret-user-7', 'ann@secret.example', '203.0.113.77', 'secret-trait']
  const rules = {
    redact: [
      { path: 'userId', as: 'hash' },
      { path: 'context.ip', as: 'drop' },
      { path: 'traits.email', as: 'hash' },
      { path: 'traits.note', as: 'mask' },
    ],
  }
  const call = {
    type: 'identify',
    userId: secrets[0],
    traits: { email: secrets[1], note: secrets[3], plan: 'pro' },
    context: { ip: secrets[2] },
  }
  let receiver: Awaited<ReturnType<typeof aReceiver>>
  let send: Awaited<ReturnType<typeof aSource>>
  beforeAll(async () => {
    send = await aSource('redacted')
  })

  test('gets hashed and dropped values, and a retry sends the same bytes even if the rules have changed', async () => {
    receiver = await aReceiver()
    // late answers leave time for the change; otherwise, a busy machine might use up all attempts first
    receiver.behave('/switch', '/slow/3000/503')
    const options = { sourceIds: ['redacted'], rules, hashKey: HASH_KEY }
    await sluice.destination('redacted', [`${receiver.url}/switch`], options)
    await send({ ...call, messageId: 'redacted-1' })
    await until(() => receiver.arrivals.length > 0)
    await replace('redacted', { rules: { ...rules, shape: { changed: true } } })
    receiver.answerWith(200)
    await until(() => receiver.arrivals.some(({ status }) => status === 200))
    const bodies = new Set(receiver.arrivals.map(({ body }) => body))
    expect(bodies.size).toBe(1)
    expect(JSON.parse([...bodies][0] ?? '')).toEqual({
      version: 1,
      type: 'identify',
      userId: hashed('secret-user-7'),
      traits: { email: hashed('ann@secret.example'), note: '*'.repeat(16), plan: 'pro' },
      timestamp: expect.any(String),
      context: {},
    })
    expect(postedAgain(receiver.arrivals)).toEqual([])
  })

  test('has its redacted values in no topic but events: not in deliveries, retries, dead letters or attempts', async () => {
    const rejecting = await aReceiver()
    const options = { sourceIds: ['redacted'], rules, hashKey: HASH_KEY }
    await sluice.destination('redacted-dead', [`${rejecting.url}/status/400`], options)
    await send({ ...call, messageId: 'redacted-2' })
    const letters = async () =>
      (await sluice.api('get', 'dead?destinationId=redacted-dead')).body.items as object[]
    const [letter] = await until(async () => {
      const items = await letters()
      return items.length > 0 && items
    })
    expect(letter).toMatchObject({ reason: 'rejected', user: hashed('secret-user-7') })
    const { delivery } = readConfig(sluice.env, 'control')
    const rungs = delivery.ladder.map(({ name }) => rungTopic(name))
    for (const topic of [DELIVERIES, DUE, DEAD, ATTEMPTS, SEEN, PARKED, ...rungs])
      for (const { key, value, headers } of await readAll(sluice.connection, topic))
        for (const secret of secrets)
          expect(`${key} ${value} ${JSON.stringify(headers)}`.includes(secret), topic).toBe(false)
    const events = await readAll(sluice.connection, EVENTS)
    expect(events.filter(({ value }) => String(value).includes('secret-trait')).length).toBeGreaterThan(0)
  })

  test('gets no replay of a dead letter whose user was suppressed later', async () => {
    await sluice.api('post', 'suppressions', { sourceId: 'redacted', userId: secrets[0] })
    expect(await replay({ destinationId: 'redacted-dead' })).toMatchObject({ replayed: 0 })
  })

  test('never shows its hash key', async () => {
    const { body } = await sluice.api('get', 'destinations/redacted')
    expect(body.hashKey).toBe('***')
  })
})

test('a shape replaces the body, and the signature covers the new body', async () => {
  const receiver = await aReceiver()
  const send = await aSource('shaped')
  const shape = {
    text: 'New order {{properties.total}} from {{userId}}',
    items: '{{properties.items}}',
    none: '{{properties.none}}',
  }
  const options = { sourceIds: ['shaped'], rules: { shape }, sharedSecret: 'shaped-secret' }
  await sluice.destination('shaped', [`${receiver.url}/`], options)
  await send(track('shaped-1', { properties: { total: 12.5, items: [1, 'two'] } }))
  const [arrival] = await until(() => receiver.arrivals.length > 0 && receiver.arrivals)
  expect(JSON.parse(arrival?.body ?? '')).toEqual({ text: 'New order 12.5 from u1', items: [1, 'two'] })
  const signature = createHmac('sha1', 'shaped-secret')
    .update(arrival?.body ?? '')
    .digest('hex')
  expect(arrival?.headers['x-signature']).toContain(signature)
  const { body } = await sluice.api('post', 'destinations/shaped/test')
  expect(body).toMatchObject({ rules: { outcome: 'sent' }, results: [{ outcome: 'delivered' }] })
  expect(JSON.parse(receiver.arrivals.at(-1)?.body ?? '')).toMatchObject({
    text: 'New order 12.50 from test-user',
  })
})

test('if rules fail, the event is a dead letter, and a replay runs the current rules', async () => {
  const receiver = await aReceiver()
  const send = await aSource('failing')
  const redact = [{ path: 'properties.card', as: 'drop' }]
  const shape = { all: Array.from({ length: 20 }, () => '{{properties.text}}') }
  const options = { sourceIds: ['failing'], rules: { redact, shape } }
  await sluice.destination('failing', [`${receiver.url}/`], options)
  await send(track('failing-1', { properties: { text: 'x'.repeat(20_000), card: '4111-1111' } }))
  const { body } = await until(async () => {
    const answer = await sluice.api('get', 'dead?destinationId=failing')
    return (answer.body.items as object[]).length > 0 && answer
  })
  expect(body.items).toMatchObject([
    { reason: 'rules_failed', code: 'too_large', messageId: 'failing-1', attempts: [] },
  ])
  expect(JSON.stringify(body.items)).not.toContain('4111-1111')
  await replace('failing', { rules: { redact, shape: { length: '{{properties.text | default: ""}}' } } })
  const ended = await replay({ destinationId: 'failing', reason: 'rules_failed' })
  expect(ended).toMatchObject({ state: 'done', replayed: 1 })
  const [arrival] = await until(() => receiver.arrivals.length > 0 && receiver.arrivals)
  expect(JSON.parse(arrival?.body ?? '')).toEqual({ length: 'x'.repeat(20_000) })
  expect(arrival?.headers['x-replay']).toBe('true')
  expect(receiver.arrivals.map(idOf)).toEqual(['failing-1'])
})

test('destinations with and without rules share a source: those without get the usual body', async () => {
  const receiver = await aReceiver()
  const send = await aSource('mixed')
  const sourceIds = ['mixed']
  await sluice.destination('mixed-plain', [`${receiver.url}/plain`], { sourceIds })
  await sluice.destination('mixed-passed', [`${receiver.url}/passed`], {
    sourceIds,
    rules: { filter: { path: 'type', eq: 'track' } },
  })
  await sluice.destination('mixed-named', [`${receiver.url}/named`], {
    sourceIds,
    rules: { filter: { path: 'event', in: ['Paid'] }, redact: [{ path: 'userId', as: 'drop' }] },
  })
  await send(track('mixed-1'))
  await until(() => receiver.arrivals.length === 3)
  const bodyAt = (path: string) => receiver.arrivals.find((arrival) => arrival.path === path)?.body
  expect(bodyAt('/passed')).toBe(bodyAt('/plain'))
  expect(JSON.parse(bodyAt('/named') ?? '')).not.toHaveProperty('userId')
  const routed = await readDeliveries(sluice)
  expect(routed.filter(({ messageId }) => messageId === 'mixed-1')).toHaveLength(3)
})
