import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { connect } from '../../kafka/client.ts'
import { ConfigResourceTypes } from '../../kafka/patches/kafkajs.ts'
import { createLog } from '../../process/log.ts'
import { followSettings } from '../../settings/follow.ts'
import { type Control, startControl, VIEW } from '../control/process.ts'
import { rawTopic, removeSubjects, removeTopics } from '../control/topic.ts'
import { keysOf } from '../helpers/config-keys.ts'
import { until } from '../helpers/until.ts'

const topicPrefix = `t${randomUUID().slice(0, 8)}.`
const key = randomBytes(32)
const place = { kafkaBrokers: inject('kafkaBrokers'), registryUrl: inject('registryUrl'), topicPrefix }
const connection = connect(
  {
    brokers: place.kafkaBrokers.split(','),
    ssl: false,
    sasl: undefined,
    topicPrefix,
    partitions: 1,
    replication: 1,
  },
  { clientId: 'test', log: createLog({ role: 'start', level: 'silent' }) },
)

let control: Control
beforeAll(async () => {
  control = startControl({ ...place, key })
  await control.ready()
})
afterAll(async () => {
  await control.stop()
  await removeTopics(connection)
  await removeSubjects(connection, place.registryUrl)
})

const fetchSession = async (process: Control, init: RequestInit) =>
  fetch(`${await process.ready()}/api/session`, init)

const cookieOf = ({ headers }: Response) => headers.getSetCookie()[0]?.split(';')[0] ?? ''

/** Limits the size of a record in `config`. Empty: Kafka's default. */
async function limitRecords(bytes: string): Promise<void> {
  const admin = connection.kafka.admin()
  await admin.connect()
  const configEntries = bytes === '' ? [] : [{ name: 'max.message.bytes', value: bytes }]
  const name = connection.named('config')
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: ConfigResourceTypes.TOPIC,
        name,
        configEntries: [...configEntries, { name: 'cleanup.policy', value: 'compact' }],
      },
    ],
  })
  await admin.disconnect()
}

const destination = {
  id: 'crm',
  name: 'CRM',
  sourceIds: ['shop'],
  sharedSecret: 'clear-shared-secret',
  webhooks: [{ url: 'https://crm.example/hook', headers: { 'X-Team': 'clear-header-value' } }],
}

describe('over HTTP, on a real broker', () => {
  test('a source and a destination are created, listed, read, replaced', async () => {
    const shop = { id: 'shop', name: 'Shop', writeKey: 'clear-write-key' }
    expect(await control.ask('POST', '/api/sources', { body: shop })).toMatchObject({
      status: 201,
      json: { version: 1 },
    })
    expect(await control.ask('POST', '/api/destinations', { body: destination })).toMatchObject({
      status: 201,
    })
    const read = await control.ask('GET', '/api/destinations/crm')
    expect(read.json).toMatchObject({ sharedSecret: '***', webhooks: [{ headers: { 'X-Team': '***' } }] })
    const body = { ...read.json, name: 'CRM 2' }
    expect(await control.ask('PUT', '/api/destinations/crm', { body, ifMatch: 1 })).toMatchObject({
      status: 200,
    })
    const list = await control.ask('GET', '/api/destinations', { token: VIEW })
    const webhooks = [{ url: 'https://crm.example/***', headers: { 'X-Team': '***' } }]
    expect(list.json).toEqual({
      items: [{ ...body, webhooks, version: 2, updatedAt: expect.any(String) }],
      next: null,
    })
  })

  test('a setting too large for Kafka is refused as such, and leaves nothing behind', async () => {
    const many = Array.from({ length: 60 }, (_, i) => [`label-${i}`, 'x'.repeat(256)])
    const bodyOf = (id: string) => ({ id, name: 'Large', labels: Object.fromEntries(many) })
    await limitRecords('8000')
    onTestFinished(() => limitRecords(''))
    // the broker applies settings some time later
    let tries = 0
    const refused = await until(async () => {
      const answer = await control.ask('POST', '/api/sources', { body: bodyOf(`large-${++tries}`) })
      return answer.status === 413 && answer
    })
    expect(refused).toMatchObject({
      json: { code: 'body_too_large', message: expect.stringContaining('max.message.bytes') },
    })
    expect(await control.ask('GET', `/api/sources/large-${tries}`)).toMatchObject({ status: 404 })
    // made before the broker applied the setting
    while (--tries > 0) await control.ask('DELETE', `/api/sources/large-${tries}`)
  })

  test('a dry run shows what would change, and changes nothing', async () => {
    const read = await control.ask('GET', '/api/destinations/crm')
    const body = { ...read.json, name: 'CRM 3', sharedSecret: 'other-shared-secret' }
    const path = '/api/destinations/crm?dryRun=true'
    expect(await control.ask('PUT', path, { body, ifMatch: 2 })).toMatchObject({
      status: 200,
      json: { name: 'CRM 3', version: 3, changed: ['/name', '/sharedSecret'] },
    })
    const same = { ...read.json, sharedSecret: 'clear-shared-secret' }
    expect((await control.ask('PUT', path, { body: same, ifMatch: 2 })).json.changed).toEqual([])
    expect(await control.ask('PUT', path, { body, ifMatch: 1 })).toMatchObject({ status: 412 })
    const made = await control.ask('POST', '/api/sources?dryRun=true', {
      body: { id: 'tried', name: 'Tried' },
    })
    expect(made).toMatchObject({ status: 200, json: { id: 'tried', version: 1 } })
    expect(await control.ask('GET', '/api/sources/tried')).toMatchObject({ status: 404 })
    expect((await control.ask('GET', '/api/destinations/crm')).json).toEqual(read.json)
  })

  test('a destination with a non-public address is refused, with a way out', async () => {
    const body = { id: 'inner', name: 'Inner', webhooks: [{ url: 'http://169.254.169.254/latest' }] }
    const { status, json } = await control.ask('POST', '/api/destinations', { body })
    expect([status, json.errors]).toMatchObject([
      400,
      [
        {
          pointer: '/webhooks/0/url',
          code: 'address_forbidden',
          message: expect.stringContaining('EGRESS_ALLOW'),
        },
      ],
    ])
    expect(await control.ask('GET', '/api/destinations/inner')).toMatchObject({ status: 404 })
  })

  test('a signed-out session stays ended, also in a process that starts later', async () => {
    const signIn = () =>
      fetchSession(control, {
        method: 'POST',
        body: JSON.stringify({ token: VIEW }),
        headers: { 'content-type': 'application/json' },
      })
    const [ended, kept] = [cookieOf(await signIn()), cookieOf(await signIn())]
    const out = { method: 'DELETE', headers: { cookie: ended, 'x-requested-with': 'test' } }
    expect((await fetchSession(control, out)).status).toBe(204)
    const another = startControl({ ...place, key })
    onTestFinished(async () => void (await another.stop()))
    await another.ready()
    for (const process of [control, another]) {
      expect((await fetchSession(process, { headers: { cookie: ended } })).status).toBe(401)
      expect((await fetchSession(process, { headers: { cookie: kept } })).status).toBe(200)
    }
  })

  test('a removed record is gone, and leaves a tombstone in the topic', async () => {
    await control.ask('POST', '/api/sources', { body: { id: 'gone', name: 'Gone' } })
    expect(await control.ask('DELETE', '/api/sources/gone')).toMatchObject({ status: 204 })
    expect(await control.ask('GET', '/api/sources/gone')).toMatchObject({ status: 404 })
    expect([...(await rawTopic(connection)).keys()]).toEqual(['source/shop', 'destination/crm'])
  })

  test('an edit of a removed setting does not overwrite a new one with its id, even after a restart', async () => {
    const again = { id: 'again', name: 'Again' }
    const create = (by: Control) => by.ask('POST', '/api/sources', { body: again })
    const edit = (by: Control, ifMatch: number) =>
      by.ask('PUT', '/api/sources/again', { body: { name: 'Edited' }, ifMatch })
    const remove = (by: Control) => by.ask('DELETE', '/api/sources/again')
    expect(await create(control)).toMatchObject({ status: 201, json: { version: 1 } })
    await remove(control)
    expect(await create(control)).toMatchObject({ status: 201, json: { version: 2 } })
    expect(await edit(control, 1)).toMatchObject({ status: 412, json: { code: 'version_mismatch' } })
    await remove(control)
    const another = startControl({ ...place, key })
    onTestFinished(async () => void (await another.stop()))
    expect(await create(another)).toMatchObject({ status: 201, json: { version: 3 } })
    expect(await edit(another, 2)).toMatchObject({ status: 412 })
    expect(await edit(another, 3)).toMatchObject({ status: 200, json: { version: 4 } })
    await remove(another)
  })

  test('the topic contains no secret in clear text', async () => {
    const text = [...(await rawTopic(connection)).values()].join('\n')
    expect(text).toContain('https://crm.example/hook')
    expect(text).not.toMatch(/clear-(shared-secret|header-value|write-key)/)
  })

  test('probes and metrics need no token', async () => {
    const url = await control.ready()
    for (const path of ['/livez', '/readyz', '/metrics']) expect((await fetch(url + path)).status).toBe(200)
  })
})

test('another process follows a write, with secrets in clear text', async () => {
  const settings = await followSettings({
    connection,
    keys: keysOf(key),
    onFatal: (error) => expect.fail(error.message),
  })
  onTestFinished(() => settings.close())
  await settings.loaded
  expect(settings.destinations.get('crm')).toMatchObject({ ...destination, name: 'CRM 2', version: 2 })
  expect(settings.sourceByWriteKey('clear-write-key')?.id).toBe('shop')
  await control.ask('POST', '/api/sources', { body: { id: 'followed', name: 'Followed' } })
  await until(() => settings.sources.has('followed'), { message: 'the write is followed' })
})

test('a restart finds everything, including secrets', async () => {
  const before = (await control.ask('GET', '/api/sources')).json
  expect(await control.stop()).toMatchObject({ code: 0 })
  control = startControl({ ...place, key })
  expect((await control.ask('GET', '/api/sources')).json).toEqual(before)
  const body = (await control.ask('GET', '/api/destinations/crm')).json
  expect(await control.ask('PUT', '/api/destinations/crm', { body, ifMatch: 2 })).toMatchObject({
    status: 200,
  })
})

describe('with another CONFIG_KEY', () => {
  const other = randomBytes(32)

  test('control ends with the reason, instead of serving a system without settings', async () => {
    const wrong = startControl({ ...place, key: other })
    expect(await wrong.exited).toMatchObject({ code: 2 })
    expect(wrong.lines.join('\n')).toMatch(/CONFIG_KEY: does not fit (source|destination)\/[\w-]+/)
    expect(wrong.lines.join('\n')).not.toMatch(/\bstack\b|^ +at /m)
    expect(wrong.lines.join('\n')).not.toContain('control ready')
  })

  test('every process that follows the settings is told that it cannot continue', async () => {
    const settings = await followSettings({
      connection,
      keys: keysOf(other),
      onFatal: (error) => expect.fail(error.message),
    })
    onTestFinished(() => settings.close())
    await expect(settings.loaded).rejects.toThrow('CONFIG_KEY')
  })

  test('with the old key as second key, old records still open', async () => {
    const settings = await followSettings({
      connection,
      keys: keysOf(other, key),
      onFatal: (error) => expect.fail(error.message),
    })
    onTestFinished(() => settings.close())
    await settings.loaded
    expect(settings.destinations.get('crm')?.sharedSecret).toBe('clear-shared-secret')
  })
})

describe('two control processes', () => {
  let second: Control
  beforeAll(async () => {
    second = startControl({ ...place, key })
    await second.ready()
    await control.ask('POST', '/api/sources', { body: { id: 'both', name: 'Both' } })
    const body = { ...destination, id: 'both', sourceIds: ['both'] }
    await control.ask('POST', '/api/destinations', { body })
  })
  afterAll(() => second.stop())
  const both = () => [control, second, control, second]

  test('of concurrent writes to one version exactly one wins', async () => {
    await control.ask('POST', '/api/sources', { body: { id: 'raced', name: 'Raced' } })
    for (let version = 1; version <= 5; version++) {
      const asked = both().map((each, index) =>
        each.ask('PUT', '/api/sources/raced', { body: { name: `by ${index}` }, ifMatch: version }),
      )
      const answers = await Promise.all(asked)
      const winners = answers.filter(({ status }) => status === 200)
      expect(winners).toHaveLength(1)
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412])
      const read = await until(async () => {
        const { json } = await control.ask('GET', '/api/sources/raced')
        return json.version !== version && json
      })
      expect(read).toMatchObject({ name: winners[0]?.json.name, version: version + 1 })
    }
  })

  test('of a replacement and concurrent removals on one version either the one or the others are made, and both processes agree', async () => {
    for (let round = 0; round < 6; round++) {
      const id = `contended-${round}`
      const path = `/api/sources/${id}`
      await control.ask('POST', '/api/sources', { body: { id, name: id } })
      const answers = await Promise.all(
        both().map((each, index) =>
          // another request comes first each time
          index === round % 4
            ? each.ask('PUT', path, { body: { name: 'Kept' }, ifMatch: 1 })
            : each.ask('DELETE', path, { ifMatch: 1 }),
        ),
      )
      const statuses = answers.map(({ status }) => status)
      const isKept = statuses.includes(200)
      // either removal may succeed; the later one gets 404 or 412
      expect(statuses.includes(204)).toBe(!isKept)
      expect(statuses.filter((status) => ![200, 204, 404, 412].includes(status))).toEqual([])
      for (const each of [control, second])
        await until(async () => {
          const { status, json } = await each.ask('GET', path)
          return isKept ? json.name === 'Kept' && json.version === 2 : status === 404
        })
    }
  })

  test.each([
    ['sources', { name: 'Once' }, 201],
    ['deletions', { userIds: ['u1'] }, 202],
    ['replays', { destinationId: 'both' }, 202],
  ])('of %s an id is assigned once', async (path, body, status) => {
    const asked = both().map((each) => each.ask('POST', `/api/${path}`, { body: { id: 'once', ...body } }))
    const doubts = () =>
      [control, second].flatMap(({ lines }) => lines.filter((line) => /may not/.test(line)))
    const answers = await Promise.all(asked)
    expect(answers.map((answer) => answer.status).sort(), doubts().join('\n')).toEqual([
      status,
      409,
      409,
      409,
    ])
  })

  test('two concurrent uploads of the same members notify about each once', async () => {
    const audience = { id: 'raced', name: 'Raced', sourceId: 'both' }
    await control.ask('POST', '/api/audiences', { body: audience })
    const add = Array.from({ length: 200 }, (_, user) => `u${user}`)
    const asked = both().map((each) => each.ask('PATCH', '/api/audiences/raced/members', { body: { add } }))
    const answers = await Promise.all(asked)
    // or is refused because another one is running
    expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([])
    const changed = answers.map(({ json }) => Number(json.changed ?? 0))
    expect(changed.reduce((sum, each) => sum + each, 0)).toBe(add.length)
  })

  test('a session of one process is valid in the other', async () => {
    const signIn = await fetch(`${await control.ready()}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: VIEW }),
    })
    const [cookie = ''] = signIn.headers.get('set-cookie')?.split(';') ?? []
    const answer = await fetch(`${await second.ready()}/api/session`, { headers: { cookie } })
    const expiresAt = expect.stringMatching(/^\d{4}-.*Z$/)
    expect(await answer.json()).toEqual({ who: 'view', workspaceId: null, person: null, expiresAt })
  })

  test('writes to different records all succeed', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `many-${index}`)
    const asked = ids.map((id, index) => {
      const each = index % 2 ? control : second
      return each.ask('POST', '/api/sources', { body: { id, name: id } })
    })
    await Promise.all(asked)
    // each follows the other within a second
    for (const each of [control, second])
      await until(async () => {
        const { items } = (await each.ask('GET', '/api/sources')).json as { items: { id: string }[] }
        const shown = new Set(items.map(({ id }) => id))
        return ids.every((id) => shown.has(id))
      })
  })

  test('a write of one process takes effect in the other at once', async () => {
    for (let round = 0; round < 5; round++) {
      const id = `handed-${round}`
      await control.ask('POST', '/api/sources', { body: { id, name: id } })
      const body = { ...destination, id, sourceIds: [id] }
      expect(await second.ask('POST', '/api/destinations', { body })).toMatchObject({ status: 201 })
      expect(await control.ask('DELETE', `/api/sources/${id}`)).toMatchObject({ status: 409 })
    }
  })
})
