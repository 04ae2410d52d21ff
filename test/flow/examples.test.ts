import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import got from 'got'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { PARKED } from '../../kafka/produce/park.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { freePort } from '../../local/ports.ts'
import { ATTEMPTS, DEAD, EVENTS, REJECTED } from '../../schemas/topics.ts'
import { closing, lag } from '../helpers/cluster.ts'
import { exampleJars } from '../helpers/jars.ts'
import { type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const examples = fileURLToPath(new URL('../../examples/read/', import.meta.url))
const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0

// a machine may lack these; .ci/run installs them
const python = has('python3', '-c', 'import confluent_kafka, fastavro')
const duckdb = has('duckdb', '--version')
const javac = has('javac', '--version')

const OLD = '2026-01-02T03:04:05.006Z'
const bought = {
  type: 'track',
  userId: 'u1',
  event: 'Grüße ✓',
  messageId: 'm1',
  properties: { plan: 'pro' },
  timestamp: OLD,
}

let sluice: System
beforeAll(async () => {
  sluice = await startSystem({ RETRY_LADDER: '100ms' })
  // nobody listens there
  await sluice.destination('crm', ['http://127.0.0.1:9/hook'], { eventTypes: ['identify', 'delete'] })
  await sluice.send([
    bought,
    { type: 'identify', anonymousId: 'a1', messageId: 'm2', traits: { plan: 'pro' } },
  ])
  await sluice.send([
    bought,
    { type: 'page', userId: 'gone', messageId: 'm3' },
    // the first moment and half of a surrogate pair: some languages lack them
    {
      type: 'track',
      userId: 'u2',
      event: 'Odd',
      messageId: 'm4',
      timestamp: '0001-01-01T00:00:00Z',
      properties: { half: '\ud800' },
    },
    { type: 'track', userId: 'u3' },
  ])
  await putJunk()
  await sluice.api('post', 'deletions', { id: 'd1', userIds: ['gone'] })
  await until(async () => (await sluice.api('get', 'deletions/d1')).body.state === 'done')
})
afterAll(() => sluice?.close())

/** No events: garbage, an unknown schema, null, and the id of the events' schema before a number that does not end. */
async function putJunk(): Promise<void> {
  const producer = await createProducer(sluice.connection)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(await eventSchemaId(), 1)
  const endless = Buffer.concat([head, Buffer.alloc(16, 0xff)])
  const values = ['junk', Buffer.from([0, 0x7f, 0, 0, 1, 2]), null, endless]
  const records = values.map((value) => ({ topic: EVENTS, key: 'shop/junk', value }))
  expect(await producer.produce(records)).toBe('acked')
  await producer.close()
}

async function eventSchemaId(): Promise<number> {
  const { SCHEMA_REGISTRY_URL = '' } = sluice.env
  const subject = `${sluice.connection.named(EVENTS)}-value`
  const { id } = await got(`${SCHEMA_REGISTRY_URL}/subjects/${subject}/versions/latest`).json<{
    id: number
  }>()
  return id
}

const PASSED_OVER = /^\S*events, partition \d+, offset \d+: cannot be decoded, skipped: .+$/gm

function read(command: string, args: string[]): Reader {
  // in this locale, programs may print letters beyond ASCII as question marks
  const env = { ...process.env, LC_ALL: 'C' }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const errors: string[] = []
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => void errors.push(text))
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    child,
    errors: () => errors.join(''),
    records: () =>
      printed
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    stop: () => {
      child.kill('SIGINT')
      return ended
    },
  }
}

type Reader = {
  child: ChildProcess
  errors(): string
  records(): Record<string, unknown>[]
  /** Like Ctrl-C. @returns the exit code */
  stop(): Promise<number | null>
}

const argsOf = (group: string, ...topics: string[]) => {
  const { KAFKA_BROKERS = '', SCHEMA_REGISTRY_URL = '' } = sluice.env
  return [
    KAFKA_BROKERS,
    SCHEMA_REGISTRY_URL,
    sluice.connection.named(group),
    ...topics.map(sluice.connection.named),
  ]
}

const ids = (records: Record<string, unknown>[]) => records.map(({ messageId }) => messageId)
const isEvent = (record: Record<string, unknown>) => 'integrations' in record
/** Each once, the delete among them. */
const EVENTS_IN_ALL = 5

const upToDate = (group: string, topic: string, reader: Reader) =>
  until(async () => (await lag(sluice.connection, { group, topic })) === 0, {
    message: () => `${group} has read ${topic}; its errors: ${reader.errors()}`,
  })

describe('the example', () => {
  test.skipIf(!python)('in Python prints each event once, and the records of the other topics', async () => {
    const topics = [EVENTS, REJECTED, ATTEMPTS, DEAD]
    const reader = read('python3', [join(examples, 'read_events.py'), ...argsOf('python', ...topics)])
    // of the identify call and the delete, two attempts each
    const has = (field: string) => reader.records().filter((record) => record[field]).length
    await until(() => has('deadReason') === 2 && has('outcome') === 4, { message: reader.errors })
    for (const topic of topics) await upToDate('python', topic, reader)
    expect(await reader.stop(), reader.errors()).toBe(0)
    expect(reader.errors().match(PASSED_OVER)).toHaveLength(4)
    const records = reader.records()
    const events = records.filter(isEvent)
    expect(ids(events)).toHaveLength(EVENTS_IN_ALL)
    expect(events.find(({ messageId }) => messageId === 'm1')).toMatchObject({
      sourceId: 'shop',
      type: 'track',
      event: 'Grüße ✓',
      properties: '{"plan":"pro"}',
      timestamp: Date.parse(OLD),
      anonymousId: null,
    })
    expect(events.filter(({ type }) => type === 'delete')).toMatchObject([
      { userId: 'gone', sourceId: 'shop' },
    ])
    expect(records.filter(({ raw }) => raw)).toMatchObject([{ code: 'event_not_defined', truncated: false }])
    expect(records.filter(({ outcome }) => outcome)).toHaveLength(4)
    expect(records.find(({ deadReason }) => deadReason)).toMatchObject({
      deadReason: 'attempts_exhausted',
      attempt: 2,
    })
  })

  test.skipIf(!javac)('in Java prints the same events', async () => {
    const jars = await exampleJars(join(examples, 'pom.xml'))
    const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', `${jars}/*`]
    const reader = read('java', [...flags, join(examples, 'ReadEvents.java'), ...argsOf('java', EVENTS)])
    await upToDate('java', EVENTS, reader)
    await reader.stop()
    expect(reader.errors().match(PASSED_OVER)).toHaveLength(4)
    expect(ids(reader.records())).toHaveLength(EVENTS_IN_ALL)
    expect(reader.records().find(({ messageId }) => messageId === 'm1')).toMatchObject({
      event: 'Grüße ✓',
      properties: '{"plan":"pro"}',
      timestamp: Date.parse(OLD),
    })
  })

  test.skipIf(!python || !duckdb)('in SQL counts each event once, and none of a deleted user', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-files-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const args = [join(examples, 'events_to_files.py'), ...argsOf('files', EVENTS), join(folder, 'files')]
    const writer = read('python3', args)
    await upToDate('files', EVENTS, writer)
    expect(await writer.stop(), writer.errors()).toBe(0)
    expect(writer.errors().match(PASSED_OVER)).toHaveLength(4)
    const sql = await readFile(join(examples, 'events.sql'), 'utf8')
    const { status, stdout, stderr } = spawnSync('duckdb', ['-csv'], {
      input: sql,
      cwd: folder,
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, ''])
    // of two days if it was midnight meanwhile
    const days = await readdir(join(folder, 'files'))
    const lines = stdout.split('\n')
    const ofDays = lines.slice(1, lines.indexOf('event,plan,users')).map((line) => line.split(','))
    for (const [day] of ofDays) expect(days).toContain(`day=${day}`)
    const counted: Record<string, number> = {}
    for (const [, sourceId, type, events] of ofDays)
      counted[`${sourceId} ${type}`] = (counted[`${sourceId} ${type}`] ?? 0) + Number(events)
    expect(counted).toEqual({ 'shop identify': 1, 'shop track': 2 })
    expect([lines[0], ...lines.slice(1 + ofDays.length)]).toEqual([
      'day,sourceId,type,events',
      'event,plan,users',
      '"Grüße ✓",pro,1',
      'Odd,NULL,1',
      '',
    ])
    expect((await readdir(join(folder, 'parquet'))).toSorted()).toEqual(days.toSorted())
    const times = `SELECT originalTimestamp, sentAt FROM 'parquet/*/*.parquet' WHERE messageId = 'm1'`
    const written = spawnSync('duckdb', ['-csv', '-c', times], { cwd: folder, encoding: 'utf8' })
    expect(written.stdout).toBe('originalTimestamp,sentAt\n2026-01-02 03:04:05.006,NULL\n')
  })
})

test.skipIf(!python)('shows parked records, and returns them to their topic unchanged', async () => {
  const [brokers = ''] = argsOf('nobody')
  const run = (...more: string[]) => {
    const args = [join(examples, 'parked.py'), brokers, sluice.connection.named(PARKED), ...more]
    return spawnSync('python3', args, { encoding: 'utf8' })
  }
  const parked = (...more: string[]) => {
    const { status, stdout, stderr } = run(...more)
    expect([status, stderr]).toEqual([0, ''])
    return stdout.split('\n').slice(0, -1)
  }
  const routed = () =>
    until(async () => (await lag(sluice.connection, { group: 'router', topic: EVENTS })) === 0)
  await routed()
  const shown = parked().map((line) => JSON.parse(line))
  expect(shown.map(({ bytes }) => bytes)).toEqual(['junk'.length, 6, null, 21])
  const [junk] = shown
  expect(junk).toMatchObject({
    key: 'shop/junk',
    headers: { 'parked-topic': EVENTS, 'parked-reason': expect.any(String) },
  })
  expect(parked('--again', String(junk.partition), String(junk.offset))).toEqual([
    `written to ${sluice.connection.named(EVENTS)}`,
  ])
  // nothing was repaired: it is parked again, by the same partition's reader, with its first headers and one more
  await routed()
  const [{ offset: _, headers, ...again }, ...more] = parked()
    .slice(shown.length)
    .map((line) => JSON.parse(line))
  expect(more).toEqual([])
  expect(again).toEqual({ partition: junk.partition, key: junk.key, bytes: junk.bytes })
  expect(headers).toEqual({ ...junk.headers, 'put-back': 'true', 'parked-offset': expect.any(String) })
  expect(headers['parked-offset']).not.toBe(junk.headers['parked-offset'])

  const producer = closing(await createProducer(sluice.connection))
  const batch = { 'parked-topic': EVENTS, 'parked-batch': '1-3' }
  await producer.produce([{ topic: PARKED, key: 'k', value: Buffer.from('a batch'), headers: batch }])
  const last = JSON.parse(parked().at(-1) ?? '')
  const { status, stderr } = run('--again', String(last.partition), String(last.offset))
  expect([status, stderr]).toEqual([1, expect.stringContaining('the whole batch of the offsets 1-3')])
})

test('the subject of each public topic has the rule BACKWARD', async () => {
  const { SCHEMA_REGISTRY_URL = '' } = sluice.env
  for (const topic of [EVENTS, REJECTED, ATTEMPTS, DEAD]) {
    const rule = await got(`${SCHEMA_REGISTRY_URL}/config/${sluice.connection.named(topic)}-value`).json()
    expect(rule).toEqual({ compatibilityLevel: 'BACKWARD' })
  }
})

test('the commands of README deliver a signed event', async () => {
  const readme = await readFile(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')
  const [, commands = ''] = /```sh\n([^`]*?eval [\s\S]*?)```/.exec(readme) ?? []
  const port = await freePort('127.0.0.1')
  const here = commands
    .replaceAll('9000', String(port))
    // earlier tests have used these names
    .replaceAll('shop', 'readme')
    .replaceAll('"crm"', '"readme"')
  const { control: SLUICE_URL, ingest: SLUICE_INGEST_URL } = sluice
  const env = { ...process.env, ...sluice.env, SLUICE_URL, SLUICE_INGEST_URL }
  const shell = spawn('bash', ['-c', `${here}\nwait`], {
    ...{ env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  })
  onTestFinished(() => void process.kill(-Number(shell.pid), 'SIGKILL'))
  let printed = ''
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text
    })
  const arrived = await until(() => /^([0-9a-f]{40}) (\{"version":1.*\})$/m.exec(printed), {
    message: () => printed,
  })
  const [, signature, body = ''] = arrived
  expect(signature).toBe(createHmac('sha1', 's3cret').update(body).digest('hex'))
  expect(JSON.parse(body)).toMatchObject({ type: 'track', event: 'Signed Up', properties: { plan: 'pro' } })
  expect(printed).toContain('{"success":true}')
})

test.skipIf(!python)('the Python example ends quietly when its output is no longer read', async () => {
  const reader = read('python3', [join(examples, 'read_events.py'), ...argsOf('pipe', EVENTS)])
  await until(() => reader.records().length > 0, { message: reader.errors })
  reader.child.stdout?.destroy()
  await sluice.send([{ ...bought, messageId: 'm9' }])
  await until(() => reader.child.exitCode !== null, { message: reader.errors })
  expect(reader.child.exitCode, reader.errors()).toBe(0)
})
