import { execFile, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import { publishRunning } from '../../local/running.ts'
import { type Arrival, type Receiver, startReceiver } from '../helpers/receiver.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const PROGRAM = fileURLToPath(new URL('../../cli/sluice', import.meta.url))
const EXAMPLES = fileURLToPath(new URL('../../examples/settings', import.meta.url))

let sluice: System
let receiver: Receiver
let secrets: Record<string, string>

beforeAll(async () => {
  receiver = await startReceiver()
  sluice = await startSystem({ RETRY_LADDER: '50ms', CONTROL_VIEW_TOKEN: 'test-view-token-0123456789' })
  secrets = {
    WEB_WRITE_KEY: 'web-write-key',
    CRM_URL: receiver.url,
    CRM_TOKEN: 't0ken',
    CRM_SECRET: 's3cret',
  }
})

afterAll(async () => {
  await Promise.all([sluice?.close(), receiver?.close()])
})

/** As a receiver recomputes it. */
const hmacSha1 = (body: string, secret: string) => createHmac('sha1', secret).update(body).digest('hex')

type Ended = { code: number | string; out: string; err: string }
type More = { env?: Record<string, string>; input?: string }

/** The program must find its own Node. */
const environment = (env: Record<string, string> = {}) => ({
  PATH: '/usr/bin:/bin',
  SLUICE_URL: sluice.control,
  SLUICE_INGEST_URL: sluice.ingest,
  CONTROL_TOKEN: sluice.env.CONTROL_TOKEN,
  ...secrets,
  ...env,
})

function run(args: readonly string[], { env, input }: More = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(PROGRAM, args, { env: environment(env) }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, out, err }),
    )
    child.stdin?.end(input)
  })
}

const inShell = (command: string) =>
  spawn('/bin/bash', ['-o', 'pipefail', '-c', command], {
    env: { ...environment(), SLUICE: PROGRAM },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

const done = async (args: readonly string[], more?: More): Promise<string> => {
  const { code, out, err } = await run(args, more)
  expect([code, err]).toEqual([0, ''])
  return out
}

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function versions(): Promise<unknown[]> {
  const kinds = ['sources', 'destinations', 'audiences', 'traits']
  const answers = await Promise.all(kinds.map((kind) => sluice.api('get', kind)))
  const items = answers.flatMap(
    ({ body }) => body.items as { id: string; version: number; updatedAt: string }[],
  )
  return items.map(({ id, version, updatedAt }) => [id, version, updatedAt])
}

describe('settings as files', () => {
  const NOTHING = 'Nothing differs.\nNot in the files, and kept (--prune removes them):\n    sources/shop\n'

  test('a folder is applied completely', async () => {
    expect((await run(['diff', EXAMPLES])).code).toBe(2)
    expect(await done(['apply', EXAMPLES])).toMatch(/6 of 6 changes made\.\n$/)
    expect((await sluice.api('get', 'sources/web')).body).toMatchObject({
      name: 'Web site',
      writeKey: 'web-write-key',
      rateLimit: { perSecond: 200, burst: 400 },
    })
    expect((await sluice.api('get', 'destinations/crm')).body).toMatchObject({
      sourceIds: ['web', 'app'],
      sharedSecret: '***',
      webhooks: [{ url: `${receiver.url}/events`, headers: { Authorization: '***' } }],
      retryOn: [429],
    })
    expect((await sluice.api('get', 'audiences/vips')).body).toMatchObject({ key: 'high_value_users' })
    expect((await sluice.api('get', 'traits/lifetime-value')).body).toMatchObject({ sourceId: 'web' })
  })

  test('applying again changes nothing, with or without secrets', async () => {
    const before = await versions()
    expect(await done(['apply', EXAMPLES])).toBe(NOTHING)
    expect((await run(['diff', EXAMPLES])).code).toBe(0)
    expect(await versions()).toEqual(before)
  })

  test('declared settings are effective: the call arrives with its headers and its signature', async () => {
    const args = ['send', 'track', '--source', 'web', '--user', 'u1', '--event', 'Signed Up']
    // before ingest and the router have the settings, a call would be refused or not forwarded
    await sluice.routerFollows()
    await sluice.send([{ type: 'identify', userId: 'first' }], 'web-write-key')
    const out = await done([...args, '--properties', '{"plan": "pro"}', '--message-id', 'sent-1'])
    expect(out).toBe('200 {"success":true}  messageId sent-1\n')
    const arrival = await until(() =>
      receiver.arrivals.find(({ headers }) => headers['x-message-id'] === 'sent-1'),
    )
    expect(arrival).toMatchObject({ path: '/events', headers: { authorization: 'Bearer t0ken' } })
    expect(JSON.parse(arrival.body)).toMatchObject({
      userId: 'u1',
      event: 'Signed Up',
      properties: { plan: 'pro' },
    })
    expect(arrival.headers['x-signature']).toBe(hmacSha1(arrival.body, 's3cret'))
  })

  test('different secrets are listed and written, and then no longer differ', async () => {
    const env = { CRM_SECRET: '0ther', CRM_TOKEN: '0ther' }
    const before = await versions()
    const { code, out } = await run(['diff', EXAMPLES], { env })
    expect([code, out.split('\n').slice(0, 3)]).toEqual([
      2,
      [
        '~ destinations/crm',
        '    webhooks/0/headers/Authorization: "***" -> "***"',
        '    sharedSecret: "***" -> "***"',
      ],
    ])
    expect(await done(['apply', '--dry-run', EXAMPLES], { env })).toContain('Dry run: nothing was changed.')
    expect(await versions()).toEqual(before)
    expect(await done(['apply', EXAMPLES], { env })).not.toContain('0ther')
    expect(await done(['diff', EXAMPLES], { env })).toBe(NOTHING)
    await done(['test', 'crm'])
    const arrival = receiver.arrivals.find(({ headers }) => /^test-/.test(String(headers['x-message-id'])))
    expect(arrival?.headers.authorization).toBe('Bearer 0ther')
    expect(arrival?.headers['x-signature']).toBe(hmacSha1(arrival?.body ?? '', '0ther'))
  })

  test.each(['all.yaml', 'folder'])('an export to %s that is applied changes nothing', async (name) => {
    const path = join(await aFolder(), name)
    expect((await run(['export', '-o', path])).code).toBe(0)
    const before = await versions()
    expect(before.length).toBeGreaterThan(6)
    expect(await run(['diff', '--prune', path])).toEqual({
      code: 0,
      out: 'Nothing differs.\n',
      err: '',
    })
    expect(await done(['apply', '--prune', path])).toBe('Nothing differs.\n')
    expect(await versions()).toEqual(before)
    expect((await run(['export', '-o', path])).err).toContain('already exists')
  })

  test('an export contains no secret, and refers to the schema beside it', async () => {
    const folder = await aFolder()
    await run(['export', '-o', folder])
    const names = await readdir(folder)
    expect(names.sort()).toEqual([
      'audiences.yaml',
      'destinations.yaml',
      'sluice.schema.json',
      'sources.yaml',
      'suppressions.yaml',
      'traits.yaml',
    ])
    for (const name of names) {
      const text = await readFile(join(folder, name), 'utf8')
      expect(text).not.toMatch(/s3cret|t0ken|0ther|write-key/)
      if (name.endsWith('.yaml'))
        expect(text).toMatch(/^# yaml-language-server: \$schema=.\/sluice.schema.json\n/)
    }
  })

  test('records no longer in the files are removed on request', async () => {
    const folder = await aFolder()
    await run(['export', '-o', folder])
    await writeFile(join(folder, 'destinations.yaml'), 'destinations: []')
    await writeFile(join(folder, 'audiences.yaml'), 'audiences: []')
    const before = await versions()
    expect(await done(['apply', folder])).toContain('Not in the files, and kept')
    expect(await versions()).toEqual(before)
    const out = await done(['apply', '--prune', folder])
    expect(out.match(/^removed .*/gm)).toEqual([
      'removed audiences/vips',
      'removed destinations/warehouse',
      'removed destinations/crm',
    ])
    expect((await sluice.api('get', 'destinations')).body.items).toEqual([])
  })

  test('with a missing variable or a fault nothing is changed, and its place is reported', async () => {
    const before = await versions()
    const missing = await run(['apply', EXAMPLES], { env: { CRM_SECRET: '' } })
    expect(missing).toMatchObject({ code: 1, out: '' })
    expect(missing.err).toContain(`${EXAMPLES}/destinations.yaml:11:19: the variable CRM_SECRET is not set`)
    const input = 'sources:\n  - { id: new, name: New }\n  - { id: web, name: 7 }\n'
    const faulty = await run(['apply', '-'], { input })
    expect([faulty.code, faulty.err]).toEqual([
      1,
      expect.stringContaining('(standard input):3:22: sources/web name'),
    ])
    expect(await versions()).toEqual(before)
  })

  test('a read-only token can compare, but not apply', async () => {
    const env = { CONTROL_TOKEN: sluice.env.CONTROL_VIEW_TOKEN ?? '' }
    const { code, out } = await run(['diff', EXAMPLES], { env })
    expect([code, out]).toEqual([2, expect.stringContaining('sources/web writeKey')])
    expect(await run(['apply', EXAMPLES], { env })).toMatchObject({
      code: 1,
      err: expect.stringContaining('(403 read_only)'),
    })
  })
})

describe('commands for operators', () => {
  const webhook = (path: string) => [`${receiver.url}${path}`]

  test('a test send prints the result of each webhook, and fails if one failed', async () => {
    await sluice.destination('tested', [...webhook('/any'), ...webhook('/status/500')])
    const { code, out } = await run(['test', 'tested', '--type', 'identify'])
    expect(code).toBe(1)
    expect(out).toMatch(/\/any +delivered +200 /)
    expect(out).toMatch(/\/status\/500 +retry +500 +http_5xx .*answered 500/)
    expect(await run(['test', 'nobody'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('404 not_found'),
    })

    const call = { type: 'track', userId: 'u1', event: 'Paid by hand' }
    const given = ['test', 'tested', '--call', '-']
    const { results } = JSON.parse((await run([...given, '--json'], { input: JSON.stringify(call) })).out)
    expect(results[0]).toMatchObject({
      request: { headers: { 'X-Attempt': '1' }, body: expect.stringContaining('Paid by hand') },
    })
    expect(receiver.arrivals.findLast(({ path }) => path === '/any')?.body).toBe(results[0].request.body)
    for (const [input, message] of [
      ['{', 'is not JSON'],
      ['{"type": "track", "userId": "u1"}', 'a track call needs event'],
    ] as const)
      expect(await run(given, { input })).toMatchObject({ code: 1, err: expect.stringContaining(message) })
  })

  test('a call that ingest refuses is reported, and the command fails', async () => {
    const { code, out } = await run([
      'send',
      'track',
      '--write-key',
      'shop-write-key',
      '--user',
      'u1',
      '--json',
    ])
    expect([code, JSON.parse(out)]).toMatchObject([
      1,
      { status: 400, body: expect.stringContaining('"code"') },
    ])
  })

  /** Gets only its own test's calls. @returns a function that sends it calls */
  async function alone(id: string, path: string) {
    const writeKey = `${id}-write-key`
    const { status } = await sluice.api('post', 'sources', { id: `of-${id}`, name: id, writeKey })
    expect(status).toBe(201)
    await sluice.destination(id, webhook(path), { sourceIds: [`of-${id}`] })
    return (calls: object[]) => sluice.send(calls, writeKey)
  }

  const givenUp = (messageId: string, destinationId: string) =>
    until(async () => {
      const { body } = await sluice.api('get', `dead?messageId=${messageId}&destinationId=${destinationId}`)
      const { items } = body as { items: unknown[] }
      return items.length > 0
    })

  test('dead letters are listed with their attempts, as a table and as JSON', async () => {
    const send = await alone('down', '/status/503')
    await send([{ type: 'track', userId: 'u1', event: 'Paid', messageId: 'dead-1' }])
    await givenUp('dead-1', 'down')
    const out = await done(['dead', '--destination', 'down', '--since', '5m', '--body'])
    expect(out).toMatch(/down +attempts_exhausted +1\n/)
    expect(out).toMatch(/down +Paid +u1 +attempts_exhausted +2 +http_5xx +dead-1 .*\n.*"event":"Paid"/)
    const { items } = JSON.parse(await done(['dead', '--message', 'dead-1', '--json']))
    expect(items).toMatchObject([
      { destinationId: 'down', attempts: [{ code: 'http_5xx' }, { code: 'http_5xx' }] },
    ])
    // control reads attempts and dead letters separately
    await until(async () => {
      const { body } = await sluice.api('get', 'attempts?messageId=dead-1&destinationId=down&outcome=retry')
      return (body.items as unknown[]).length === 2
    })
    const args = ['attempts', '--message', 'dead-1', '--destination', 'down', '--outcome', 'retry']
    expect((await done(args)).match(/http_5xx/g)).toHaveLength(2)
  })

  test('a reader that closes the pipe ends it without an error', async () => {
    const child = inShell('"$SLUICE" attempts | true; echo "code $?"')
    const [printed, err] = [text(child.stdout), text(child.stderr)]
    expect([await printed, await err]).toEqual(['code 0\n', ''])
  })

  test('calls are printed as they arrive, with their results', async () => {
    const child = inShell('exec "$SLUICE" tail shop --json')
    onTestFinished(() => void child.kill())
    let printed = ''
    child.stdout?.on('data', (chunk) => {
      printed += chunk
    })
    await until(() => printed.includes('"event":"ready"'))
    await done([
      'send',
      'track',
      '--source',
      'shop',
      '--user',
      'u1',
      '--event',
      'Seen',
      '--message-id',
      'seen-1',
    ])
    await run(['send', 'track', '--source', 'shop', '--event', 'Of nobody'])
    const told = () =>
      printed
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    await until(() => told().some(({ event, data }) => event === 'attempt' && data.messageId === 'seen-1'))
    await until(() => told().some(({ event }) => event === 'rejected'))
    expect(told().filter(({ event, data }) => event === 'call' && data.messageId === 'seen-1')).toHaveLength(
      1,
    )
    child.kill('SIGINT')
    await until(() => child.exitCode !== null || child.signalCode !== null)
  })

  test('a call is found with the state of its delivery to each destination', async () => {
    await sluice.destination('found', webhook('/found'))
    await sluice.send([{ type: 'track', userId: 'u1', event: 'Paid', messageId: 'paid-1042' }])
    const find = ['events', 'find', '--message-id', 'paid-1042']
    type Found = {
      destinationId: string
      deliveryId: string
      state: string
      attempts: { startedAt: string }[]
    }
    const isDelivered = ({ destinationId, state }: Found) =>
      destinationId === 'found' && state === 'delivered'
    type Items = { destinations: Found[] }[]
    // by the API, as each start of the program costs 0.3 s of CPU
    await until(async () => {
      const { body } = await sluice.api('get', 'events?messageId=paid-1042')
      return (body.items as Items)[0]?.destinations.some(isDelivered)
    })
    const { items }: { items: Items } = JSON.parse(await done([...find, '--json']))
    const found = items[0]?.destinations.find(isDelivered)
    const lines = (await done(find)).split('\n')
    expect(lines[0]).toMatch(/^\S+Z {2}track {2}Paid {2}user u1 {2}source shop {2}message paid-1042$/)
    const row = lines.find((line) => line.startsWith('  found '))
    expect(row?.trim().split(/ +/)).toEqual([
      ...['found', 'delivered', '1', '200', found?.attempts[0]?.startedAt, '-', found?.deliveryId],
    ])
    expect(await done(['events', 'find', '--user', 'nobody', '--source', 'shop'])).toMatch(/^No such call\./)
  })

  test('watching prints calls, and says on standard error when it is ready', async () => {
    const child = spawn(PROGRAM, ['tail', 'shop'], { env: environment() })
    onTestFinished(() => void child.kill())
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    child.stderr.on('data', (chunk) => {
      err += chunk
    })
    await until(() => err.includes('Watching for new calls'))
    await sluice.send([{ type: 'track', userId: 'u1', event: 'Watched', messageId: 'watched-1' }])
    await until(() => /^\S+ {2}call {2}track {2}u1 {2}Watched {2}watched-1$/m.test(out), {
      message: () => out,
    })
    expect(out).not.toMatch(/^ready/m)
  })

  test.each([
    ['of all sources', ['events'], 'shop'],
    ['of one, as an option', ['events', '--source', 'shop'], undefined],
  ])('calls %s are watched under the name events', async (_, args, sourceId) => {
    const child = spawn(PROGRAM, ['tail', ...args, '--json'], { env: environment() })
    onTestFinished(() => void child.kill())
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
    })
    await until(() => said.includes('"event":"ready"'))
    const messageId = `tailed-${args.length}`
    await sluice.send([{ type: 'track', userId: 'u1', event: 'Tailed', messageId }])
    const whole = () => said.split('\n').slice(0, -1)
    const line = await until(() => whole().find((each) => each.includes(messageId)))
    expect(JSON.parse(line)).toMatchObject({
      event: 'call',
      data: { messageId, ...(sourceId && { sourceId }) },
    })
  })

  test('users are deleted', async () => {
    const out = await done(['delete-user', 'u1', '-', '--source', 'shop', '--json'], { input: 'u2\nu3\n' })
    const { id, users } = JSON.parse(out)
    expect(users).toBe(3)
    await until(async () => (await sluice.api('get', `deletions/${id}`)).body.state === 'done')
    expect(JSON.parse(await done(['deletions', id, '--json']))).toMatchObject({ state: 'done' })
    expect(await done(['deletions', '--limit', '1'])).toMatch(
      new RegExp(`^created .* cause\\n\\S+ +done +3 +\\d+ +no +\\S+ +${id} +-\\n$`),
    )
  })

  test('members are uploaded after a preview, and refused if something is wrong with them', async () => {
    const body = { id: 'cli', name: 'cli', sourceId: 'shop' }
    expect((await sluice.api('post', 'audiences', body)).status).toBe(201)
    const folder = await aFolder()
    const file = join(folder, 'members.csv')
    const upload = (...more: string[]) => run(['upload', 'audience', 'cli', file, ...more])
    await writeFile(
      file,
      `user_id,plan\n${Array.from({ length: 20 }, (_, user) => `m${user},pro\n`).join('')}`,
    )
    const dry = await upload('--dry-run')
    expect(dry).toMatchObject({ code: 0, out: 'Adds or changes 20, removes 0 of 0, leaves 0 unchanged.\n' })
    expect(await upload()).toMatchObject({ code: 0, out: `${dry.out}Done.\n` })

    await writeFile(file, 'user_id,plan\nm0,pro\nm1\n')
    const invalid = await upload()
    expect(invalid).toMatchObject({ code: 1, err: expect.stringContaining('--skip-invalid') })
    expect(invalid.out).toContain('1 line cannot be used:\n  line 3 has 1 field,')
    const many = await upload('--skip-invalid')
    expect(many).toMatchObject({ code: 1, err: expect.stringContaining('--allow-removals') })
    expect(many.out).toContain('removes 19 of 20')
    const allowed = await upload('--skip-invalid', '--allow-removals', '--json')
    expect(JSON.parse(allowed.out)).toMatchObject({ state: 'done', removed: 19, unchanged: 1, skipped: 1 })

    const exported = join(folder, 'members.tsv')
    await writeFile(exported, '\ufeffPlan\tUser_ID\r\npro\tm0\r\n')
    const same = 'Adds or changes 0, removes 0 of 1, leaves 1 unchanged.\n'
    expect(await run(['upload', 'audience', 'cli', exported, '--dry-run'])).toMatchObject({ out: same })

    const piped = ['upload', 'audience', 'cli', '-']
    const columns = 'plan;user_id\npro;m0\n'
    expect(await run(piped, { input: columns })).toMatchObject({
      code: 1,
      err: expect.stringContaining('send it as CSV'),
    })
    expect(await run([...piped, '--format', 'csv', '--dry-run'], { input: columns })).toMatchObject({
      out: same,
    })
    expect(await run(piped, { input: '' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('--allow-empty'),
    })
    expect(await run([...piped, '--allow-empty'], { input: '' })).toMatchObject({ code: 0 })
    expect(await run(['upload', 'audience', 'cli', join(folder, 'nothing')])).toMatchObject({
      code: 1,
      err: expect.stringContaining('Cannot read'),
    })
  })

  test('dead letters are replayed', async () => {
    const send = await alone('again', '/switch')
    receiver.answerWith(500)
    await send([{ type: 'track', userId: 'u1', event: 'Again', messageId: 'again-1' }])
    await givenUp('again-1', 'again')
    receiver.answerWith(200)
    const { id } = JSON.parse(await done(['replay', 'start', 'again', '--from', '1h', '--json']))
    const isAgain = ({ path, status, headers }: Arrival) =>
      path === '/switch' && status === 200 && headers['x-message-id'] === 'again-1'
    await until(() => receiver.arrivals.some(isAgain))
    await until(async () => (await sluice.api('get', `replays/${id}`)).body.state === 'done')
    expect(await done(['replay', 'list', '--destination', 'again'])).toMatch(
      new RegExp(` again +dead +done .* 1 +${id}\n`),
    )
    expect(await done(['replay', 'show', id])).toMatch(/ is done: \d+ of \d+ records read, 1 replayed\n$/)
    const ended = await run(['replay', 'cancel', id])
    expect(ended).toMatchObject({ code: 1, err: expect.stringContaining('replay_ended') })
  })

  test('lag is listed for each topic of a group, and on request for each partition', async () => {
    await until(async () => (await sluice.api('get', 'lag')).status === 200)
    expect(await done(['lag', '--group', 'router'])).toMatch(/^router +events +4 +\d+ /m)
    const [heads, ...lines] = (await done(['lag', '--group', 'router', '--partitions'])).trim().split('\n')
    expect(heads).toMatch(/^group +topic +partition +end +committed +lag +seconds +status$/)
    expect(lines.filter((line) => /^router +events +\d /.test(line))).toHaveLength(4)
  })
})

test('without an address it finds the npm start of its data folder, and reports if none runs', async () => {
  const folder = await aFolder()
  const env = { SLUICE_URL: '', SLUICE_INGEST_URL: '', CONTROL_TOKEN: '', SLUICE_DATA: folder }
  expect(await run(['dead'], { env })).toMatchObject({
    code: 1,
    err: expect.stringContaining('No npm start of this checkout is running'),
  })
  const { KAFKA_BROKERS: brokers = '', SCHEMA_REGISTRY_URL: registry = '' } = sluice.env
  const at = { control: sluice.control, ingest: sluice.ingest, brokers }
  const controlToken = sluice.env.CONTROL_TOKEN ?? ''
  const takeBack = await publishRunning(folder, { ...at, registryUrl: registry, controlToken })
  expect(await run(['dead'], { env })).toMatchObject({ code: 0 })
  expect(JSON.parse((await run(['env', '--json'], { env })).out)).toEqual({
    ...at,
    registry,
    token: controlToken,
  })
  await takeBack()
  expect(await run(['dead'], { env })).toMatchObject({ code: 1 })
})
