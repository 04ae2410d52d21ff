import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { SchemaType } from '@kafkajs/confluent-schema-registry'
import avro from 'avsc'
import got from 'got'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { NODE_FLAGS } from '../../harness/launch.ts'
import { consume } from '../../kafka/consume/consume.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { spawnChild } from '../../local/processes/child-process.ts'
import { ConfigError } from '../../process/config-error.ts'
import { codec, schemaText } from '../../schemas/codec.ts'
import { openCodec, openRegistry, registerSchemas } from '../../schemas/registry.ts'
import type { SchemaTopic as Topic } from '../../schemas/topics.ts'
import { ROLES } from '../../settings/config-key.ts'
import { closing, connection, readAll } from '../helpers/cluster.ts'
import { anEvent } from '../helpers/events.ts'
import { startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const registry = () => openRegistry({ url: inject('registryUrl'), auth: undefined })

test('a schema is registered under its subject with compatibility BACKWARD, even if an earlier start was killed before setting the rule', async () => {
  const subject = `t${randomUUID().slice(0, 8)}.events-value`
  const url = inject('registryUrl')
  await got.post(`${url}/subjects/${subject}/versions`, { json: { schema: schemaText('event') } })
  const { encode } = await openCodec(registry(), 'event', subject)
  expect(encode(anEvent())[0]).toBe(0)
  expect(await got(`${url}/config/${subject}`).json()).toEqual({ compatibilityLevel: 'BACKWARD' })
})

test('a schema that breaks current readers is refused, with the subject named', async () => {
  const subject = `t${randomUUID().slice(0, 8)}.events-value`
  const url = inject('registryUrl')
  const foreign = {
    type: 'record',
    name: 'Event',
    namespace: 'sluice',
    fields: [{ name: 'sourceId', type: 'int' }],
  }
  await got.post(`${url}/subjects/${subject}/versions`, { json: { schema: JSON.stringify(foreign) } })
  await got.put(`${url}/config/${subject}`, { json: { compatibility: 'BACKWARD' } })
  await expect(openCodec(registry(), 'event', subject)).rejects.toThrow(subject)
})

/** Instead of a status: closes the connection, or never answers. */
const CUT = 0
const SILENT = 1

const silent = new Set<Socket>()

/** The proxy answers some requests itself. */
async function proxied(answerOf: (method: string, path: string) => number | undefined): Promise<string> {
  const target = new URL(inject('registryUrl'))
  const server = createHttpServer((asked, answer) => {
    const { method = '', url = '', headers } = asked
    const status = answerOf(method, url)
    if (status === CUT) return void asked.socket.destroy()
    if (status === SILENT) return void silent.add(asked.socket)
    if (status !== undefined) return void answer.writeHead(status).end('{}')
    const forwarded = request(target.origin + url, { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
    })
    asked.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`
}

describe('a shared registry', () => {
  const topics: Topic[] = [{ name: 'events', partitions: 'many', retention: 1, schema: 'event' }]
  const prefixed = () => {
    const prefix = `t${randomUUID().slice(0, 8)}.`
    return (name: string) => prefix + name
  }

  test('keeps the rules of all other subjects', async () => {
    const changed: string[] = []
    const url = await proxied((method, path) => {
      if (method !== 'GET') changed.push(`${method} ${path}`)
      return undefined
    })
    const named = prefixed()
    await registerSchemas(openRegistry({ url, auth: undefined }), topics, named)
    expect(changed.filter((one) => !one.includes(named('events-value')))).toEqual([])
    expect(await got(`${url}/config/${named('events-value')}`).json()).toEqual({
      compatibilityLevel: 'BACKWARD',
    })
  })

  test('accepts processes that start at the same time', async () => {
    const url = inject('registryUrl')
    for (let times = 0; times < 5; times++) {
      const named = prefixed()
      const starting = Array.from({ length: 4 }, () =>
        registerSchemas(openRegistry({ url, auth: undefined }), topics, named),
      )
      await Promise.all(starting)
      expect(await got(`${url}/config/${named('events-value')}`).json()).toEqual({
        compatibilityLevel: 'BACKWARD',
      })
    }
  })

  test.each([
    ['closes connections', () => CUT],
    ['answers 503', () => 503],
    ['answers 429', () => 429],
    ['answers 503 to who registers', (method: string) => (method === 'POST' ? 503 : undefined)],
    ['closes the connections of who registers', (method: string) => (method === 'POST' ? CUT : undefined)],
  ])('is waited for while it %s, however long', async (_, answerOf) => {
    let isAway = true
    const url = await proxied((method) => (isAway ? answerOf(method) : undefined))
    const told: unknown[] = []
    const options = { retryMs: 10, onAway: (what: string | undefined) => void told.push(what) }
    const registering = registerSchemas(openRegistry({ url, auth: undefined }, options), topics, prefixed())
    // more often than it may refuse
    await until(() => told.filter(Boolean).length > 10)
    isAway = false
    await registering
    expect(told.find(Boolean)).toContain(`${url}: `)
    expect(told.at(-1)).toBeUndefined()
  })

  test('need not allow listing other subjects', async () => {
    const url = await proxied((_, path) => (path.endsWith('/subjects') ? 403 : undefined))
    await registerSchemas(openRegistry({ url, auth: undefined }), topics, prefixed())
  })

  test('that allows registering but not setting a missing rule is reported at once', async () => {
    const named = prefixed()
    const url = await proxied((method, path) =>
      method === 'PUT' && path.includes('/config/') ? 403 : undefined,
    )
    const subject = `${url}/subjects/${named('events-value')}/versions`
    await got.post(subject, { json: { schema: schemaText('event') } })
    const registering = registerSchemas(openRegistry({ url, auth: undefined }), topics, named)
    await expect(registering).rejects.toThrow(ConfigError)
  })

  test('that only allows reading is distinguished from one that is down', async () => {
    const url = await proxied((method) => (method === 'GET' ? undefined : 403))
    const registering = registerSchemas(openRegistry({ url, auth: undefined }), topics, prefixed())
    await expect(registering).rejects.toThrow(ConfigError)
    await expect(registering).rejects.toThrow('SCHEMA_REGISTRY_URL: the registry answers 403')
  })
})

test('a registry that never answers holds only the partition that needs it, for a bounded time', async () => {
  const url = await proxied(() => SILENT)
  // `waitMs` is longer than the rest of the test takes on a busy machine
  const source = openRegistry({ url, auth: undefined }, { requestMs: 5_000, waitMs: 20_000 })
  const kafka = await connection([{}])
  const producer = closing(await createProducer(kafka))
  const [known, unknown] = [codec('event', 1, source), codec('event', 2, source)]
  const record = (partition: number, { encode }: typeof known, messageId: string) => ({
    ...{ topic: 'work', key: 'k', partition },
    value: encode(anEvent({ messageId })),
  })
  const records = [record(0, unknown, 'unknown'), record(0, known, 'behind it')]
  const others = [1, 2, 3].map((partition) => record(partition, known, `in ${partition}`))
  expect(await producer.produce([...records, ...others])).toBe('acked')

  const taken: string[] = []
  const consumer = await consume({
    connection: kafka,
    group: 'work',
    topics: ['work'],
    codec: known,
    producer,
    handle(record) {
      taken.push(record.value.messageId)
      record.settle()
      return undefined
    },
    onFatal: (error) => {
      throw error
    },
  })
  closing(consumer)
  await until(() => taken.length === 3)
  expect(taken.toSorted()).toEqual(['in 1', 'in 2', 'in 3'])
  // if each asked the registry, all together would outlast the held partition
  for (let sent = 0; sent < 5; sent++) {
    await producer.produce([record((sent % 3) + 1, known, `later ${sent}`)])
    await until(() => taken.includes(`later ${sent}`))
  }
  expect(taken).not.toContain('behind it')

  await until(() => taken.includes('behind it'))
  const [parked, ...more] = await readAll(kafka, 'parked')
  expect(more).toEqual([])
  expect(parked?.headers['parked-reason']).toContain('registry_unreachable: ')
  expect(parked?.value).toEqual(records[0]?.value)
})

test('a start waits for a registry that is down, as the log and /readyz say', async () => {
  const sluice = await startSystem({}, ['control'])
  onTestFinished(sluice.close)
  await sluice.stop('control')
  let isSilent = true
  const url = await proxied(() => (isSilent ? SILENT : undefined))
  const env = { PATH: process.env.PATH, ...sluice.env, SCHEMA_REGISTRY_URL: url }
  const started = ROLES.map((role) => {
    const printed: string[] = []
    const args = [...NODE_FLAGS, `${role}/main.ts`]
    const child = spawnChild(process.execPath, { args, env, onLine: (line) => void printed.push(line) })
    onTestFinished(async () => void (await child.kill()))
    const port = sluice.env[`${role.toUpperCase()}_METRICS_PORT`] ?? sluice.env[`${role.toUpperCase()}_PORT`]
    const readyz = () =>
      got(`http://127.0.0.1:${port}/readyz`, { throwHttpErrors: false, retry: { limit: 0 } }).then(
        ({ statusCode, body }) => `${statusCode} ${body}`,
        () => '',
      )
    return { role, printed, readyz }
  })
  const away = `the schema registry cannot be reached: ${url}`
  for (const { role, printed, readyz } of started) {
    await until(async () => (await readyz()).startsWith(`503 ${away}`), {
      message: () => `${role} waits; it printed:\n${printed.join('\n')}`,
    })
    await until(() => printed.some((line) => line.includes('the start waits for it')), {
      message: () => `${role} says so; it printed:\n${printed.join('\n')}`,
    })
  }
  isSilent = false
  for (const socket of silent) socket.destroy()
  for (const { role, printed, readyz } of started)
    await until(async () => (await readyz()) === '200 ok\n', {
      message: () => `${role} is ready; it printed:\n${printed.join('\n')}`,
    })
})

describe('under the rule BACKWARD', () => {
  const event = JSON.parse(schemaText('event')) as { fields: { name: string; type: unknown }[] }
  const more = { name: 'later', type: ['null', 'string'], default: null }
  const withMore = { ...event, fields: [...event.fields, more] }
  const without = (name: string) => ({
    ...event,
    fields: event.fields.filter((field) => field.name !== name),
  })
  const typed = (name: string, type: unknown) => ({
    ...event,
    fields: event.fields.map((field) =>
      field.name === name ? { ...field, type, default: undefined } : field,
    ),
  })
  const enumOf = (...symbols: string[]) => ({ type: 'enum', name: 'EventType', symbols })
  const SYMBOLS = ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete']

  const post = (subject: string, schema: object) =>
    got.post<{ id: number }>(`${inject('registryUrl')}/subjects/${subject}/versions`, {
      json: { schema: JSON.stringify(schema) },
      throwHttpErrors: false,
      responseType: 'json',
    })

  test('a version with an added field is accepted: old and new readers read what old and new writers write', async () => {
    const subject = `t${randomUUID().slice(0, 8)}.events-value`
    const ours = await openCodec(registry(), 'event', subject)
    const { statusCode, body } = await post(subject, withMore)
    expect(statusCode).toBe(200)
    const newer = avro.Type.forSchema(withMore as avro.Schema).toBuffer({ ...anEvent(), later: 'x' })
    const header = Buffer.alloc(5)
    header.writeUInt32BE(body.id, 1)
    const ofNewer = Buffer.concat([header, newer])
    expect(await ours.decode(ofNewer)).toEqual({ ok: true, value: anEvent() })
    const { client } = registry()
    const readAs = (bytes: Buffer, readerSchema: object) =>
      client.decode(bytes, { [SchemaType.AVRO]: { readerSchema: readerSchema as never } })
    expect(await readAs(ofNewer, event)).toEqual(anEvent())
    expect(await readAs(ours.encode(anEvent()), withMore)).toEqual({ ...anEvent(), later: null })
    // an older process that starts behind it writes as before
    const again = await openCodec(registry(), 'event', subject)
    expect(again.encode(anEvent())).toEqual(ours.encode(anEvent()))
  })

  test.each([
    [200, 'a field less', without('sourceId')],
    [200, 'a type of event more', typed('type', enumOf(...SYMBOLS, 'later'))],
    [
      409,
      'a field more that has no default',
      { ...event, fields: [...event.fields, { ...more, default: undefined }] },
    ],
    [409, 'another type for a field', typed('messageId', 'long')],
    [409, 'null no more allowed where it was', typed('userId', 'string')],
    [409, 'a type of event less', typed('type', enumOf(...SYMBOLS.slice(1)))],
  ])('%i is the answer to a version with %s', async (status, _, schema) => {
    const subject = `t${randomUUID().slice(0, 8)}.events-value`
    await openCodec(registry(), 'event', subject)
    expect((await post(subject, schema)).statusCode).toBe(status)
  })
})
