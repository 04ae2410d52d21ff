import { readFileSync, writeFileSync } from 'node:fs'
import { asyncapiText } from './asyncapi.ts'

/**
 * `npm run schemas` writes the TypeScript types from the Avro schemas, and the description of the topics; a test fails when one of
 * them is stale.
 * Shapes follow what avsc hands out: unions with null unwrapped, longs as numbers, logical types as their base type.
 */

type AvroField = { name: string; type: AvroType; doc: string }
type AvroNamed = {
  type: 'record' | 'enum' | 'array'
  name: string
  doc: string
  fields: AvroField[]
  symbols: string[]
  items: AvroType
}
type AvroType = string | AvroType[] | AvroNamed | { type: string; logicalType: string }

export const schemaNames = ['event', 'delivery', 'attempt', 'rejected'] as const

/** @returns text of the module for one schema: an exported type per record and enum. */
function typesOf(schema: AvroNamed): string {
  const modules: string[] = []
  typeText(schema, modules)
  return `// Written by \`npm run schemas\` from ${schema.name.toLowerCase()}.avsc: change that, not this.\n\n${modules.join('\n')}`
}

function typeText(type: AvroType, modules: string[]): string {
  if (typeof type === 'string') return primitives[type] ?? type
  if (Array.isArray(type)) return type.map((branch) => typeText(branch, modules)).join(' | ')
  if ('logicalType' in type) return primitives[type.type] ?? type.type
  if (type.type === 'array') return `${typeText(type.items, modules)}[]`
  const text =
    type.type === 'enum' ? type.symbols.map((symbol) => `'${symbol}'`).join(' | ') : recordText(type, modules)
  modules.push(`/** ${type.doc} */\nexport type ${type.name} = ${text}\n`)
  return type.name
}

function recordText({ fields }: AvroNamed, modules: string[]): string {
  const lines = fields.map(
    (field) => `  /** ${field.doc} */\n  ${field.name}: ${typeText(field.type, modules)}\n`,
  )
  return `{\n${lines.join('')}}`
}

const primitives: Record<string, string> = { int: 'number', long: 'number', bytes: 'Buffer' }

const file = (name: string) => new URL(name, import.meta.url)

/** @returns for each schema the path of its module and the text that belongs there. */
export function modules(): { path: URL; text: string }[] {
  return schemaNames.map((name) => {
    // a parse edge: our own schemas, whose shape avsc checks at start
    const schema = JSON.parse(readFileSync(file(`${name}.avsc`), 'utf8')) as AvroNamed
    return { path: file(`${name}.ts`), text: typesOf(schema) }
  })
}

if (import.meta.main) {
  for (const { path, text } of modules()) writeFileSync(path, text)
  writeFileSync(file('../docs/asyncapi.yaml'), asyncapiText())
}
