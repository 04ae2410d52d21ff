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

/** Written with another version of the schema, and then changed. */
function readToday(name: SchemaName, writer: Schema, value: object, changed = (bytes: Buffer) => bytes) {
  const type = typeOf(writer)
  const bytes = Buffer.concat([Buffer.from([0, 0, 0, 0, OTHER_ID]), changed(type.toBuffer(value))])
  return codec(name, 7, { client: { getSchema: () => Promise.resolve(type as never) } }).decode(bytes)
}

describe.each(schemaNames)('a record of schema %s', (name) => {
  const { fields, ...rest } = today(name)
  const value = values[name]
  const optional = fields.filter((field) => 'default' in field)

  test('from before any optional field was added is read with defaults', async () => {
    expect(optional.length).toBeGreaterThan(0)
    for (const { name: missing, default: absent } of optional) {
      const older = { ...rest, fields: fields.filter((field) => field.name !== missing) }
      const read = await readToday(name, older, value)
      expect(read).toEqual({ ok: true, value: { ...value, [missing]: absent } })
    }
  })

  test('from a future version with an additional field is read without it', async () => {
    const more = { name: 'later', type: ['null', 'string'], default: null }
    const newer = { ...rest, fields: [more, ...fields] }
    expect(await readToday(name, newer, { ...value, later: 'x' })).toEqual({ ok: true, value })
  })

  test.each([
    ['list', { type: 'array', items: 'string' }, ['x', 'y'], []],
    ['list of numbers', { type: 'array', items: 'int' }, [1, 2], []],
    ['map', { type: 'map', values: 'string' }, { a: 'x', b: 'y' }, {}],
  ])(
    'from a future version with a %s is read without it, unless that has fewer items than it says',
    async (_what, type, later, none) => {
      const newer = { ...rest, fields: [...fields, { name: 'later', type, default: none }] }
      expect(await readToday(name, newer, { ...value, later })).toEqual({ ok: true, value })
      // instead of the 0 that ends the list: 1,000 more items
      const cut = (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([0xd0, 0x0f])])
      const fault = { ok: false, message: 'the value ends early, in a list' }
      expect(await readToday(name, newer, { ...value, later }, cut)).toMatchObject(fault)
    },
  )

  test('without one optional field is read with its default', async () => {
    const newer = { ...rest, fields: fields.filter((field) => !('default' in field)) }
    const absent = Object.fromEntries(optional.map((field) => [field.name, field.default]))
    expect(await readToday(name, newer, value)).toEqual({ ok: true, value: { ...value, ...absent } })
  })

  test('of today is read by a program with an older version, by field name', () => {
    const older = typeOf({ ...rest, fields: fields.filter((field) => field !== optional[0]) })
    const type = typeOf(today(name))
    const { [optional[0]?.name ?? '']: _, ...known } = value as Record<string, unknown>
    expect(older.fromBuffer(type.toBuffer(value), older.createResolver(type))).toEqual(known)
  })
})

describe('a record that cannot be read gets a reason and is never misread', () => {
  const event = today('event')
  const withField = (name: string, change: Partial<Field>): Schema => ({
    ...event,
    fields: event.fields.map((field) => (field.name === name ? { ...field, ...change } : field)),
  })

  test('when its schema has another type for a field', async () => {
    const writer = withField('messageId', { type: 'long' })
    const read = await readToday('event', writer, { ...anEvent(), messageId: 5 })
    expect(read).toMatchObject({ ok: false, reason: 'unknown_schema' })
  })

  test('when its schema lacks a field without a default', async () => {
    const writer = { ...event, fields: event.fields.filter(({ name }) => name !== 'sourceId') }
    expect(await readToday('event', writer, anEvent())).toMatchObject({ ok: false, reason: 'unknown_schema' })
  })

  test('when its schema has one more event type: readers must be upgraded first', async () => {
    const symbols = ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete', 'later']
    const writer = withField('type', { type: { type: 'enum', name: 'EventType', symbols } })
    for (const type of ['later', 'track'])
      expect(await readToday('event', writer, { ...anEvent(), type })).toMatchObject({ ok: false })
  })
})
