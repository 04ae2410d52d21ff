import got from 'got'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EVENTS } from '../../schemas/topics.ts'
import { ended, readAll } from '../helpers/cluster.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const MANY = 60_000
const members = Array.from({ length: MANY }, (_, user) => `u${user}\n`).join('')

let sluice: System
beforeAll(async () => {
  sluice = await startSystem({}, ['control'])
  for (const id of ['vip', 'big']) await sluice.api('post', 'audiences', { id, name: id, sourceId: 'shop' })
})
afterAll(() => sluice?.close())

async function put(id: string, body: string, prefer?: string) {
  const {
    statusCode,
    headers,
    body: text,
  } = await got.put(`${sluice.control}/api/audiences/${id}/members?allowRemovals=true`, {
    body,
    headers: {
      authorization: `Bearer ${sluice.env.CONTROL_TOKEN}`,
      'content-type': 'text/plain',
      ...(prefer !== undefined && { prefer }),
    },
    throwHttpErrors: false,
  })
  return { status: statusCode, location: headers.location ?? '', body: JSON.parse(text) }
}

/** Identify events about an audience. */
async function told(id: string): Promise<number> {
  const events = await readAll(sluice.connection, EVENTS)
  return events.filter(({ value }) => value.includes(`"${id}"`)).length
}

test('a client that does not wait gets the address of the result, where one that lost the answer finds it', async () => {
  const { status, location, body } = await put('vip', 'a\nb\n', 'respond-async, wait=0')
  expect([status, body, location]).toEqual([
    202,
    { id: expect.any(String), state: 'accepted' },
    `/api/syncs/${body.id}`,
  ])
  await until(async () => (await sluice.api('get', `syncs/${body.id}`)).body.state === 'done')
  const next = await put('vip', 'a\n', 'respond-async, wait=30')
  expect([next.status, next.body]).toMatchObject([200, { state: 'done', removed: 1 }])
  const listed = (await sluice.api('get', 'syncs?audienceId=vip')).body
  expect(listed).toMatchObject({ items: [{ id: next.body.id }, { id: body.id, changed: 2 }], next: null })
})

test('a cancelled sync stops and stays cancelled, and the next upload sends what it has not sent', async () => {
  const before = await ended(sluice.connection, EVENTS)
  const { body } = await put('big', members, 'respond-async, wait=0')
  // reading the events would take as long as writing half of them
  await until(async () => (await ended(sluice.connection, EVENTS)) > before)
  const second = await put('big', 'a\n')
  expect([second.status, second.body.message]).toEqual([409, expect.stringContaining(body.id)])
  const cancelled = await sluice.api('delete', `syncs/${body.id}`)
  expect(cancelled).toMatchObject({ status: 200, body: { state: 'cancelled' } })
  const rest = await put('big', members)
  const { changed, unchanged } = rest.body
  expect([rest.status, changed > 0, unchanged > 0, changed + unchanged]).toEqual([200, true, true, MANY])
  expect((await sluice.api('get', `syncs/${body.id}`)).body).toMatchObject({ state: 'cancelled' })
  expect(await told('big')).toBe(MANY)
})
