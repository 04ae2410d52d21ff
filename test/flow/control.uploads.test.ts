import { randomBytes, randomUUID } from 'node:crypto'
import { connect as openSocket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { type Connection, connect } from '../../kafka/client.ts'
import { createLog } from '../../process/log.ts'
import { MEMBERS, UPLOADS } from '../../schemas/topics.ts'
import { ADMIN, type Control, startControl } from '../control/process.ts'
import { rawTopic } from '../control/topic.ts'
import { head } from '../control/wire.ts'
import { borrowBroker, type OwnBroker } from '../helpers/broker.ts'
import { ended, untilGrown } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'

const topicPrefix = `t${randomUUID().slice(0, 8)}.`
const MANY = 60_000

let broker: OwnBroker
let control: Control
beforeAll(async () => {
  broker = await borrowBroker()
  control = startControl({
    kafkaBrokers: broker.now.brokers,
    registryUrl: inject('registryUrl'),
    topicPrefix,
    key: randomBytes(32),
    settings: { PARTITIONS: '4' },
  })
  await control.ask('POST', '/api/sources', { body: { id: 'shop', name: 'Shop' } })
})
afterAll(async () => {
  await control?.kill()
  await broker?.close()
})

async function made(id: string): Promise<void> {
  const { status } = await control.ask('POST', '/api/audiences', { body: { id, name: id, sourceId: 'shop' } })
  expect(status).toBe(201)
}

async function put(id: string, members: string | ReadableStream<Uint8Array>) {
  const response = await fetch(`${await control.ready()}/api/audiences/${id}/members`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'text/plain' },
    body: members,
    duplex: 'half',
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

const users = (count: number) => Array.from({ length: count }, (_, user) => `user-${user}\n`).join('')

function connection(): Connection {
  const log = createLog({ role: 'start', level: 'silent' })
  const brokers = broker.now.brokers.split(',')
  return connect(
    { brokers, ssl: false, sasl: undefined, topicPrefix, partitions: 4, replication: 1 },
    { clientId: 'test', log },
  )
}

async function kept(id: string): Promise<number> {
  const keys = [...(await rawTopic(connection(), MEMBERS)).keys()]
  return keys.filter((key) => key.startsWith(`${id}/`)).length
}

test('several audiences upload at once, and none has to start over', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f']
  await Promise.all(ids.map(made))
  const answers = await Promise.all(ids.map((id) => put(id, users(2_000))))
  for (const { json } of answers) expect(json).toMatchObject({ state: 'done', changed: 2_000 })
  expect(control.lines.filter((line) => line.includes('a task failed'))).toEqual([])
})

test('removing an audience stops its notifications and leaves nothing of its users', async () => {
  const states: unknown[] = []
  // on a busy machine a sync can end before its audience is removed
  for (let times = 1; times <= 5 && !states.includes('cancelled'); times++) {
    const id = `gone-${times}`
    await made(id)
    const { uploading } = await untilGrown(connection(), MEMBERS, () => ({
      uploading: put(id, users(MANY * times)),
    }))
    expect(await control.ask('DELETE', `/api/audiences/${id}`)).toMatchObject({ status: 204 })
    states.push((await uploading).json.state)
    // the members are removed afterwards
    await until(async () => (await kept(id)) === 0, { timeout: 90_000 })
  }
  expect(states).toContain('cancelled')
  expect(await kept('a')).toBe(2_000)
}, 600_000)

test.each(['identity', 'gzip'])(
  'an upload with an invalid line is answered at once, and its connection serves the next request: %s',
  async (encoding) => {
    await made(`wrong-${encoding}`)
    const lines = Buffer.from(
      `{"of":"another type"}\n${Array.from({ length: 100_000 }, randomUUID).join('\n')}`,
    )
    const body = encoding === 'gzip' ? gzipSync(lines) : lines
    const { hostname, port } = new URL(await control.ready())
    const socket = openSocket(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    let answers = ''
    socket.on('data', (chunk) => {
      answers += chunk
    })
    const headers = {
      Authorization: `Bearer ${ADMIN}`,
      'Content-Type': 'text/plain',
      'Content-Encoding': encoding,
      'Content-Length': String(body.length),
    }
    socket.write(head(`PUT /api/audiences/wrong-${encoding}/members HTTP/1.1`, headers))
    socket.write(body.subarray(0, 100_000))
    await until(() => answers.includes('"invalid_line"'))
    socket.write(body.subarray(100_000))
    socket.write(head('GET /livez HTTP/1.1'))
    await until(() => answers.includes('HTTP/1.1 200 OK'))
  },
)

test('while Kafka is down uploads and member changes answer 503 in time, and work again afterwards', async () => {
  await made('late')
  const { readable, writable } = new TransformStream<Uint8Array>()
  const writer = writable.getWriter()
  const before = await ended(connection(), UPLOADS)
  const begun = put('late', readable)
  // large: a part is in Kafka before it ends
  await writer.write(Buffer.from(users(50_000)))
  await until(async () => (await ended(connection(), UPLOADS)) > before)
  expect((await put('late', 'u\n')).json.code).toBe('sync_running')
  process.kill(broker.now.pid, 'SIGSTOP')
  try {
    const began = performance.now()
    const patching = control.ask('PATCH', '/api/audiences/a/members', { body: { add: ['someone'] } })
    const whole = put('b', users(10))
    // a client answered early may see its connection close
    writer.write(Buffer.from(users(2_000))).catch(() => undefined)
    writer.close().catch(() => undefined)
    for (const { status, json } of await Promise.all([begun, patching, whole]))
      expect({ status, code: json.code }).toEqual({ status: 503, code: 'unavailable' })
    expect(performance.now() - began).toBeLessThan(25_000)
  } finally {
    process.kill(broker.now.pid, 'SIGCONT')
  }
  const again = () => put('late', 'u\n').then(({ status, json }) => status === 200 && json)
  // the outage may have the sync repeated: `changed` counts only the last run
  expect(await until(again, { timeout: 90_000 })).toMatchObject({ state: 'done', lines: 1, removed: 0 })
  expect(await kept('late')).toBe(1)
})
