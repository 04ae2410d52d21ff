import { readdirSync, readFileSync } from 'node:fs'
import avro from 'avsc'
import { describe, expect, test } from 'vitest'
import pack from '../../package.json' with { type: 'json' }
import { type SchemaName, schemaText } from '../../schemas/codec.ts'
import { schemaNames } from '../../schemas/generate-types.ts'

// Released schemas never change. The registry's rule would allow removing a field, and older processes could then not
// read new records (docs/reference/topics.md, ops/README.md).

type Enum = { type: 'enum'; name: string; symbols: string[] }
type Schema = { fields: { name: string; type: unknown }[] }

const folder = new URL('released/', import.meta.url)
const versions = readdirSync(folder)

const released = (version: string, name: SchemaName): Schema =>
  JSON.parse(readFileSync(new URL(`${version}/${name}.avsc`, folder), 'utf8'))
const today = (name: SchemaName): Schema => JSON.parse(schemaText(name))

/** An older process cannot read a new symbol: readers are upgraded before writers. */
function withSymbolsOf(older: Schema, newer: Schema): Schema {
  const known = new Map<string, string[]>()
  JSON.stringify(older, (_, value) => {
    if (isEnum(value)) known.set(value.name, value.symbols)
    return value
  })
  return JSON.parse(JSON.stringify(newer), (_, value) =>
    isEnum(value) ? { ...value, symbols: known.get(value.name) ?? value.symbols } : value,
  )
}
const isEnum = (value: unknown): value is Enum =>
  typeof value === 'object' && value !== null && 'symbols' in value && 'name' in value

/** @throws if one cannot read records of the other */
function resolve({ reader, writer }: { reader: Schema; writer: Schema }): avro.Resolver {
  const [read, written] = [reader, writer].map((schema) => avro.Type.forSchema(schema as never))
  if (!read || !written) throw new Error('two schemas are needed')
  return read.createResolver(written)
}

test('the schemas of this version are among the released ones', () => {
  expect(versions).toContain(pack.version)
})

describe.each(versions)('records of %s and of today', (version) => {
  test.each(schemaNames)('of schema %s read each other', (name) => {
    const [older, newer] = [released(version, name), today(name)]
    expect(() => resolve({ reader: newer, writer: older })).not.toThrow()
    expect(() => resolve({ reader: older, writer: withSymbolsOf(older, newer) })).not.toThrow()
  })

  test.each(schemaNames)('of schema %s have the same fields, and possibly more', (name) => {
    const names = today(name).fields.map((field) => field.name)
    expect(names).toEqual(expect.arrayContaining(released(version, name).fields.map((field) => field.name)))
  })
})
