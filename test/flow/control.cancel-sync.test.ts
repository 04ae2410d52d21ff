import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import got from 'got'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { EVENTS } from '../../schemas/topics.ts'
import { head } from '../control/wire.ts'
import { readAll, untilGrown } from '../helpers/cluster.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const MANY = 30_000
const members = Array.from({ length: MANY }, (_, user) => `u${user}\n`).join('')

let sluice: System
beforeAll(async () => {
  sluice = await startSystem({}, ['control'])
  for (const id of ['vip', 'big']) await sluice.api('post', 'audiences', { id, name: id, sourceId: 'shop' })
})
afterAll(() => sluice?.close())

async function put(id: string, body: string, prefer?: string) {
  const response = await got.put(`${sluice.control}/api/audiences/${id}/members?allowRemovals=true`, {
    body,
    headers: {
      authorization: `Bearer ${sluice.env.CONTROL_TOKEN}`,
      'content-type': 'text/plain',
      ...(prefer !== undefined && { prefer }),
    },
    throwHttpErrors: false,
  })
  return {
    status: response.statusCode,
    location: response.headers.location ?? '',
    body: JSON.parse(response.body),
  }
}

/** Identify events about an audience. */
async function told(id: string): Promise<number> {
  const events = await readAll(sluice.connection, EVENTS)
  return events.filter(({ value }) => value.includes(`"${id}"`)).length
}

/** Sends requests in one piece, the last with `Connection: close`. Resolves even if control is stopped. */
async function sent(...requests: string[]): Promise<{ answers: Promise<string> }> {
  const { hostname, port } = new URL(sluice.control)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  const answers = text(socket)
  await new Promise((resolve) => socket.write(requests.join(''), resolve))
  return { answers }
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
  const { body } = await untilGrown(sluice.connection, EVENTS, () =>
    put('big', members, 'respond-async, wait=0'),
  )
  const thaw = sluice.freeze('control')
  const { id } = body
  // control gets both at the beginning of the sync, however busy this process is
  const headers = { Authorization: `Bearer ${sluice.env.CONTROL_TOKEN}` }
  const upload = { ...headers, 'Content-Type': 'text/plain', 'Content-Length': '2' }
  const { answers } = await sent(
    `${head('PUT /api/audiences/big/members HTTP/1.1', upload)}a\n`,
    head(`DELETE /api/syncs/${id} HTTP/1.1`, { ...headers, Connection: 'close' }),
  )
  thaw()
  const [, second, cancelled] = (await answers).split('HTTP/1.1 ')
  expect(second).toMatch(new RegExp(`^409 .*"message":"sync ${id} of audience big is in progress`, 's'))
  expect(cancelled).toMatch(/^200 .*"state":"cancelled"/s)
  const rest = await put('big', members)
  const { changed, unchanged } = rest.body
  expect([rest.status, changed > 0, unchanged > 0, changed + unchanged]).toEqual([200, true, true, MANY])
  expect((await sluice.api('get', `syncs/${id}`)).body).toMatchObject({ state: 'cancelled' })
  expect(await told('big')).toBe(MANY)
})
