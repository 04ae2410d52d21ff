import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import got from 'got'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DELIVERIES, EVENTS, UPLOADS } from '../../../schemas/topics.ts'
import { ended, readAll, untilGrown } from '../../helpers/cluster.ts'
import { postedAgain, type Receiver, startReceiver, withoutRetries } from '../../helpers/receiver.ts'
import { until } from '../../helpers/until.ts'
import { sluice } from './system.ts'

const MANY = 20_000

let receiver: Receiver
beforeAll(async () => {
  receiver = await startReceiver()
  await sluice.destination('crm', [`${receiver.url}/`])
})
afterAll(() => receiver?.close())

const headers = () => ({ authorization: `Bearer ${sluice.env.CONTROL_TOKEN}` })

async function made(kind: 'audience' | 'trait', id: string): Promise<string> {
  const { status, body } = await sluice.api('post', `${kind}s`, { id, name: id, sourceId: 'shop' })
  expect(status).toBe(201)
  return String(body.key)
}

type Sent = { type?: string; query?: string; method?: 'put' | 'patch'; more?: object }

async function send(
  path: string,
  body: string | Buffer,
  { type, query = '', method = 'put', more }: Sent = {},
) {
  const response = await got[method](`${sluice.control}/api/${path}${query}`, {
    body,
    headers: { ...headers(), 'content-type': type ?? 'text/plain', ...more },
    throwHttpErrors: false,
    // requests break when their control is killed
    retry: { limit: 0 },
  })
  return { status: response.statusCode, body: JSON.parse(response.body) }
}

const lines = (users: readonly string[]) => users.map((user) => `${user}\n`).join('')

/** As `userId value`, in the order of arrival. */
function told(key: string): string[] {
  return withoutRetries(receiver.arrivals).flatMap(({ body }) => {
    const { type, userId, traits } = JSON.parse(body)
    return type === 'identify' && key in traits ? [`${userId} ${JSON.stringify(traits[key])}`] : []
  })
}

/** @returns the events since the last call, at least `count` */
function listener(key: string) {
  let heard = 0
  return async (count: number) => {
    await until(() => told(key).length >= heard + count)
    const news = told(key).slice(heard)
    heard += news.length
    return news.toSorted()
  }
}

test('an audience notifies about all members at first, then about changes, and about nothing without changes', async () => {
  const hear = listener(await made('audience', 'vip'))
  const first = await send('audiences/vip/members', lines(['a', 'b', 'c']))
  expect(first).toMatchObject({
    status: 200,
    body: { state: 'done', audienceId: 'vip', lines: 3, changed: 3 },
  })
  expect(await hear(3)).toEqual(['a true', 'b true', 'c true'])
  const body = JSON.parse(receiver.arrivals.find(({ body: text }) => text.includes('"a"'))?.body ?? '')
  expect(body.context).toEqual({
    personas: { computation_class: 'audience', computation_id: 'vip', computation_key: 'vip' },
  })
  const same = await send('audiences/vip/members', lines(['c', 'b', 'a', 'a']))
  expect(same.body).toMatchObject({ changed: 0, removed: 0, unchanged: 3 })
  const next = await send('audiences/vip/members', '"b"\n{"userId":"d"}\n"c"\n', {
    type: 'application/x-ndjson',
    query: '?allowRemovals=true',
  })
  expect(next.body).toMatchObject({ changed: 1, removed: 1, unchanged: 2 })
  expect(await hear(2)).toEqual(['a false', 'd true'])
  const patch = JSON.stringify({ add: ['a', 'b'], remove: ['c', 'nobody'] })
  const patched = await send('audiences/vip/members', patch, { method: 'patch', type: 'application/json' })
  expect(patched.body).toMatchObject({ changed: 1, removed: 1, unchanged: 2 })
  expect(await hear(2)).toEqual(['a true', 'c false'])
  const read = await sluice.api('get', 'audiences/vip')
  expect(read.body).toMatchObject({ version: 1, lastSyncAt: patched.body.finishedAt })
})

test('a trait notifies about changed and removed values, and ignores users that the upload does not name', async () => {
  const hear = listener(await made('trait', 'ltv'))
  const values = (entries: object) =>
    Object.entries(entries)
      .map(([userId, value]) => `${JSON.stringify({ userId, value })}\n`)
      .join('')
  const put = async (entries: object, query = '') =>
    (await send('traits/ltv/values', values(entries), { query })).body
  expect(await put({ a: 1, b: 'x', c: { y: [2] } })).toMatchObject({ traitId: 'ltv', changed: 3 })
  expect(await hear(3)).toEqual(['a 1', 'b "x"', 'c {"y":[2]}'])
  const next = { a: 2, b: null, c: { y: [2] } }
  expect(await put(next)).toMatchObject({
    code: 'many_removals',
    message: expect.stringContaining('1 of 3 values'),
  })
  const allowed = await put(next, '?allowRemovals=true')
  expect(allowed).toMatchObject({ changed: 1, removed: 1, unchanged: 1 })
  expect(await hear(2)).toEqual(['a 2', 'b null'])
  expect(await put({})).toMatchObject({ changed: 0, removed: 0 })
})

test('an empty or unreadable upload changes nothing', async () => {
  const hear = listener(await made('audience', 'careful'))
  const path = 'audiences/careful/members'
  await send(path, lines(['a', 'b']))
  expect(await send(path, '')).toMatchObject({ status: 400, body: { code: 'empty_upload' } })
  const bad = await send(path, '"a"\nb\n', { type: 'application/x-ndjson' })
  expect(bad).toMatchObject({
    status: 400,
    body: { code: 'invalid_line', message: expect.stringContaining('Line 2') },
  })
  const csv = await send(path, 'userId;plan\na;pro\n', { query: '?skipInvalid=true&allowRemovals=true' })
  expect(csv).toMatchObject({
    status: 400,
    body: {
      code: 'csv_as_text',
      message: expect.stringMatching(/^Line 1 names columns.*Nothing has changed$/),
    },
  })
  const notGzip = await send(path, 'a\n', { more: { 'content-encoding': 'gzip' } })
  expect(notGzip).toMatchObject({ status: 400, body: { code: 'invalid_encoding' } })
  const zipped = gzipSync(lines(['a', 'b', 'c']))
  const inflated = await send(path, zipped, { more: { 'content-encoding': 'gzip' } })
  expect(inflated.body).toMatchObject({ changed: 1, removed: 0, unchanged: 2 })
  expect((await send(path, '', { query: '?allowEmpty=true' })).body).toMatchObject({ removed: 3 })
  expect(await hear(6)).toEqual(['a false', 'a true', 'b false', 'b true', 'c false', 'c true'])
})

test('a dry run says what an upload would change, and changes nothing', async () => {
  const hear = listener(await made('audience', 'dry'))
  const path = 'audiences/dry/members'
  const members = Array.from({ length: 1_000 }, (_, user) => `dry-${user}`)
  await send(path, lines(members))
  await hear(1_000)
  const { body: suppression } = await sluice.api('post', 'suppressions', { sourceId: '*', userId: 'dry-9' })
  const upload = 'user_id,plan\r\ndry-0,pro\r\n new-1 ,"a ""plan"""\r\nnew-2,\r\ndry-2\r\n,pro\r\nx"y,pro\r\n'
  const csv = { type: 'text/csv' }
  const preview = await send(path, upload, { ...csv, query: '?dryRun=true' })
  expect(preview).toMatchObject({
    status: 200,
    body: { lines: 3, changed: 2, removed: 998, unchanged: 1, suppressed: 1, current: 1_000, invalid: 3 },
  })
  expect(preview.body.confirm).toBe('allowRemovals')
  expect(preview.body.invalidLines.map(({ line }: { line: number }) => line)).toEqual([5, 6, 7])
  expect(await send(path, upload, csv)).toMatchObject({ status: 400, body: { code: 'invalid_line' } })
  const skipping = await send(path, upload, { ...csv, query: '?skipInvalid=true' })
  expect(skipping).toMatchObject({
    status: 409,
    body: {
      code: 'many_removals',
      message: expect.stringMatching(/would remove 998 of 1,000 members.*allowRemovals=true/),
    },
  })
  const empty = await send(path, '', { query: '?dryRun=true' })
  expect(empty.body).toMatchObject({ removed: 999, suppressed: 1, confirm: 'allowEmpty' })
  const same = await send(path, lines(members), { query: '?dryRun=true' })
  expect(same.body).toMatchObject({ changed: 0, removed: 0, unchanged: 1_000, confirm: null })
  await sluice.api('delete', `suppressions/${suppression.id}`)
  // a tenth may leave without a confirmation
  const fewer = await send(path, lines(members.slice(100)))
  expect(fewer.body).toMatchObject({ changed: 0, removed: 100, unchanged: 900 })
  expect(await hear(100)).toEqual(
    members
      .slice(0, 100)
      .map((user) => `${user} false`)
      .toSorted(),
  )
  const all = await send(path, upload, { ...csv, query: '?skipInvalid=true&allowRemovals=true' })
  expect(all.body).toMatchObject({ state: 'done', changed: 3, removed: 900, skipped: 3 })
  expect((await hear(903)).slice(-2)).toEqual(['new-1 true', 'new-2 true'])
})

test('CSV sets the values of a trait, with the types that they look like', async () => {
  const hear = listener(await made('trait', 'typed'))
  const put = (body: string, query = '') => send('traits/typed/values', body, { type: 'text/csv', query })
  await put('value,userId\n42,a\ntrue,b\n007,c\n"one\n""two""",d\n-1.50e1,e\n')
  expect(await hear(5)).toEqual(['a 42', 'b true', 'c "007"', 'd "one\\n\\"two\\""', 'e -15'])
  const removing = await put('value,userId\n,a\n', '?dryRun=true')
  expect(removing.body).toMatchObject({ removed: 1, current: 5, confirm: 'allowRemovals' })
})

/** Continues until the test says how it ends. */
function begun(path: string) {
  const upload = httpRequest(`${sluice.control}/api/${path}`, {
    method: 'PUT',
    headers: { ...headers(), 'content-type': 'text/plain' },
  })
  const ended = new Promise<void>((resolve) => upload.once('close', resolve))
  upload.on('error', () => undefined).on('response', (response) => response.resume())
  return {
    write: (text: string) => upload.write(text),
    end: () => upload.end(),
    break: () => upload.destroy(),
    ended,
  }
}

test('during an upload a second one gets 409, and an interrupted one changes nothing', async () => {
  const hear = listener(await made('audience', 'busy'))
  const path = 'audiences/busy/members'
  const before = await ended(sluice.connection, UPLOADS)
  const first = begun(path)
  // large: a part is in Kafka before it ends
  first.write(lines(Array(50_000).fill('a')))
  await until(async () => (await ended(sluice.connection, UPLOADS)) > before)
  expect(await send(path, lines(['c']))).toMatchObject({ status: 409, body: { code: 'sync_running' } })
  first.break()
  await first.ended
  await until(async () => (await send(path, lines(['d']))).status === 200)
  expect(await hear(1)).toEqual(['d true'])
})

test('a removed audience that is created again starts empty', async () => {
  const hear = listener(await made('audience', 'again'))
  await send('audiences/again/members', lines(['a', 'b']))
  await hear(2)
  expect((await sluice.api('delete', 'audiences/again')).status).toBe(204)
  await made('audience', 'again')
  const anew = async () => (await send('audiences/again/members', lines(['a']))).body
  const first = await until(async () => {
    const body = await anew()
    return body.code !== 'sync_running' && body
  })
  expect(first).toMatchObject({ changed: 1, removed: 0 })
  expect(await hear(1)).toEqual(['a true'])
})

test('suppressed users are left out until the suppression ends', async () => {
  const hear = listener(await made('audience', 'quiet'))
  const { body } = await sluice.api('post', 'suppressions', { sourceId: 'shop', userId: 'hidden' })
  const path = 'audiences/quiet/members'
  const first = await send(path, lines(['hidden', 'seen']))
  expect(first.body).toMatchObject({ changed: 1, suppressed: 1 })
  await sluice.api('delete', `suppressions/${body.id}`)
  expect((await send(path, lines(['hidden', 'seen']))).body).toMatchObject({ changed: 1, unchanged: 1 })
  expect(await hear(2)).toEqual(['hidden true', 'seen true'])
})

test('a killed sync continues, notifies about each member once, and the next upload finds no changes', async () => {
  const key = await made('audience', 'many')
  const members = Array.from({ length: MANY }, (_, user) => `m${user}`)
  // not arrivals: at the first one, all events may be written
  const { upload } = await untilGrown(sluice.connection, EVENTS, () => ({
    upload: send('audiences/many/members', lines(members)).catch(() => 'broken'),
  }))
  await sluice.crash('control')
  await sluice.start('control')
  expect(await upload).toBe('broken')
  const again = await until(
    async () => {
      const { status, body } = await send('audiences/many/members', lines(members))
      return status === 200 && body
    },
    { timeout: 120_000 },
  )
  expect(again).toMatchObject({ changed: 0, removed: 0, unchanged: MANY })
  await until(() => told(key).length >= MANY, { timeout: 300_000 })
  expect(new Set(told(key)).size).toBe(MANY)
  expect(postedAgain(receiver.arrivals)).toEqual([])
  expect(told(key)).toHaveLength(MANY)
  // a member routed twice would look like one posted twice
  const routed = (await readAll(sluice.connection, DELIVERIES)).filter(({ key }) => /^crm\/m\d+$/.test(key))
  expect(routed).toHaveLength(MANY)
}, 600_000)
