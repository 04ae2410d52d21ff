import avro from 'avsc'
import { describe, expect, test } from 'vitest'
import { codec, type SchemaName, schemaText } from '../../schemas/codec.ts'
import { schemaNames } from '../../schemas/generate-types.ts'
import { anAttempt } from '../control/attempts-in-memory.ts'
import { aDelivery, anEvent } from '../helpers/events.ts'

type Field = { name: string; type: unknown; default?: unknown; doc?: string }
type Schema = { fields: Field[] }

const OTHER_ID = 3
const values: Record<SchemaName, object> = {
  event: anEvent({ event: 'Paid', properties: '{"total":1.5}', sentAt: 1_700_000_000_000 }),
  delivery: aDelivery({
    attempt: 2,
    deferrals: 1,
    replay: true,
    deadReason: 'refused',
    deadAt: 1_700_000_000_000,
  }),
  attempt: anAttempt({ urlIndex: 0, status: 503, code: 'http_5xx', response: 'away' }),
  rejected: {
    sourceId: 'shop',
    code: 'too_deep',
    message: 'The call is nested deeper than 64 levels.',
    raw: '{}',
    receivedAt: 1_700_000_000_000,
    truncated: true,
  },
}

const today = (name: SchemaName): Schema => JSON.parse(schemaText(name))
const typeOf = (schema: Schema) => avro.Type.forSchema(schema as unknown as avro.Schema)

/** What Sluice of today makes of a record that was written with another version of its schema. */
function readToday(name: SchemaName, writer: Schema, value: object) {
  const type = typeOf(writer)
  const bytes = Buffer.concat([Buffer.from([0, 0, 0, 0, OTHER_ID]), type.toBuffer(value)])
  return codec(name, 7, { client: { getSchema: () => Promise.resolve(type as never) } }).decode(bytes)
}

describe.each(schemaNames)('a record of schema %s', (name) => {
  const { fields, ...rest } = today(name)
  const value = values[name]
  const optional = fields.filter((field) => 'default' in field)

  test('from before any of its optional fields was added is read with the default', async () => {
    expect(optional.length).toBeGreaterThan(0)
    for (const { name: missing, default: absent } of optional) {
      const older = { ...rest, fields: fields.filter((field) => field.name !== missing) }
      const read = await readToday(name, older, value)
      expect(read).toEqual({ ok: true, value: { ...value, [missing]: absent } })
    }
  })

  test('from a version that is yet to come, with a field more, is read without it', async () => {
    const more = { name: 'later', type: ['null', 'string'], default: null }
    const newer = { ...rest, fields: [more, ...fields] }
    expect(await readToday(name, newer, { ...value, later: 'x' })).toEqual({ ok: true, value })
  })

  test('from one without an optional field is read with the default as well', async () => {
    const newer = { ...rest, fields: fields.filter((field) => !('default' in field)) }
    const absent = Object.fromEntries(optional.map((field) => [field.name, field.default]))
    expect(await readToday(name, newer, value)).toEqual({ ok: true, value: { ...value, ...absent } })
  })

  test('of today is read by a program that knows an older version, and takes its fields by name', () => {
    const older = typeOf({ ...rest, fields: fields.filter((field) => field !== optional[0]) })
    const type = typeOf(today(name))
    const { [optional[0]?.name ?? '']: _, ...known } = value as Record<string, unknown>
    expect(older.fromBuffer(type.toBuffer(value), older.createResolver(type))).toEqual(known)
  })
})

describe('what cannot be read is put aside with a reason, never misread', () => {
  const event = today('event')
  const withField = (name: string, change: Partial<Field>): Schema => ({
    ...event,
    fields: event.fields.map((field) => (field.name === name ? { ...field, ...change } : field)),
  })

  test('a record whose schema has another type for a field', async () => {
    const writer = withField('messageId', { type: 'long' })
    const read = await readToday('event', writer, { ...anEvent(), messageId: 5 })
    expect(read).toMatchObject({ ok: false, reason: 'unknown_schema' })
  })

  test('a record whose schema lacks a field that has no default', async () => {
    const writer = { ...event, fields: event.fields.filter(({ name }) => name !== 'sourceId') }
    expect(await readToday('event', writer, anEvent())).toMatchObject({ ok: false, reason: 'unknown_schema' })
  })

  test('any record of a schema with one more type of event: who reads is to be upgraded first', async () => {
    const symbols = ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete', 'later']
    const writer = withField('type', { type: { type: 'enum', name: 'EventType', symbols } })
    for (const type of ['later', 'track'])
      expect(await readToday('event', writer, { ...anEvent(), type })).toMatchObject({ ok: false })
  })
})
