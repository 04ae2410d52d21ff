import { code, slugOf, table } from '../markdown.ts'
import type { GeneratedPage } from '../pages.ts'
import { fieldTable, type Schema, type ShapesAt, typeOf } from './shape.ts'

type Content = Record<string, { schema?: Schema }>
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema: Schema }
type Response = { description: string; content?: Content; headers?: Record<string, { description?: string }> }
type Operation = {
  operationId?: string
  tags?: string[]
  summary: string
  description?: string
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, Response>
}
export type Document = {
  info: { description: string }
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    securitySchemes: Record<string, { description: string }>
  }
}

/** `paths`: several if they do the same. */
type Routed = Operation & { method: string; paths: string[] }
type Reference = { title: string; folder: string }

function routedIn({ paths }: Document): Routed[] {
  const found = new Map<string, Routed>()
  for (const [path, methods] of Object.entries(paths))
    for (const [name, { operationId: _, ...operation }] of Object.entries(methods)) {
      const method = name.toUpperCase()
      const key = JSON.stringify([method, operation])
      const routed = found.get(key) ?? { ...operation, method, paths: [] }
      routed.paths.push(path)
      found.set(key, routed)
    }
  return [...found.values()]
}

const requestsOf = ({ method, paths }: Routed) => paths.map((path) => code(`${method} ${path}`)).join(', ')

/** An overview, a page for each tag, and a page for the named shapes. */
export function apiPages(document: Document, { title, folder }: Reference): GeneratedPage[] {
  const operations = routedIn(document)
  const common = commonErrors(operations)
  const problem = 'Problem' in document.components.schemas ? 'Problem' : 'Refusal'
  const byTag = Map.groupBy(operations, ({ tags = [] }) => tags[0] ?? 'calls')
  const pages = [...byTag].map(([tag, of]) => ({
    title: `${title}: ${tag}`,
    path: `${folder}/${fileOf(tag)}`,
    text: [`# ${title}: ${tag}`, ...of.map((each) => section(each, common))].join('\n\n'),
  }))
  const overview = [
    `# ${title}: operations`,
    document.info.description,
    '## Operations',
    operationTable(byTag),
    '## Authentication',
    list(Object.values(document.components.securitySchemes).map(({ description }) => description)),
    '## Common errors',
    `Its body is a [${problem}](shapes.md#${problem.toLowerCase()}). Each operation lists only its other errors.`,
    ...errorList('GET', common.reads),
    ...errorList('Other methods', common.writes),
  ].join('\n\n')
  return [
    { title: `${title}: operations`, path: `${folder}/index.md`, text: overview },
    ...pages,
    { title: `${title}: shapes`, path: `${folder}/shapes.md`, text: shapes(document, title) },
  ]
}

const fileOf = (tag: string) => `${tag.replaceAll('.', '-')}.md`

const errorList = (title: string, errors: readonly string[]) =>
  errors.length === 0 ? [] : [`### ${title}`, list(errors)]

const list = (items: readonly string[]) => items.map((item) => `- ${item.replaceAll('\n', ' ')}`).join('\n')

const operationTable = (byTag: ReadonlyMap<string, readonly Routed[]>) =>
  table(
    ['operation', 'path'],
    [...byTag].flatMap(([tag, of]) =>
      of.map((operation) => [
        `[${operation.summary}](${fileOf(tag)}#${slugOf(operation.summary)})`,
        requestsOf(operation),
      ]),
    ),
  )

type Common = { reads: string[]; writes: string[] }

const isRead = ({ method }: Routed) => method === 'GET'

const isOpen = ({ security }: Operation) => security?.length === 0

function commonErrors(operations: readonly Routed[]): Common {
  const inAll = (of: readonly Routed[]) => {
    const [first = [], ...others] = of.map(errorsOf)
    return first.filter((error) => others.every((errors) => errors.includes(error)))
  }
  const closed = operations.filter((each) => !isOpen(each))
  return { reads: inAll(closed.filter(isRead)), writes: inAll(closed.filter((each) => !isRead(each))) }
}

/** `404 not_found: ...`: descriptions have a line for each code. */
function errorsOf({ responses }: Operation): string[] {
  return Object.entries(responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([status, { description }]) =>
      description.split(/\n+(?=`)/).map((error) => `${code(status)} ${error}`),
    )
}

const SHAPES: ShapesAt = 'shapes.md'

function section(operation: Routed, common: Common): string {
  const { summary, description, requestBody } = operation
  const omitted = isOpen(operation) ? [] : isRead(operation) ? common.reads : common.writes
  const errors = errorsOf(operation).filter((error) => !omitted.includes(error))
  const parts = [
    `## ${summary}`,
    requestsOf(operation),
    isOpen(operation) ? 'Needs no authentication.' : undefined,
    description,
    parameterTable(operation.parameters ?? []),
    ...Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) =>
      body(`Body (${requestBody?.required ? '' : 'optional, '}${code(type)})`, schema),
    ),
    ...Object.entries(operation.responses)
      .filter(([status]) => Number(status) < 400)
      .map(([status, response]) => success(status, response)),
    errors.length > 0 ? `Errors:\n\n${list(errors)}` : undefined,
  ]
  return parts.filter((part) => part !== undefined).join('\n\n')
}

const parameterTable = (parameters: readonly Parameter[]) =>
  parameters.length === 0
    ? undefined
    : table(
        ['parameter', 'in', 'type', 'required', 'description'],
        parameters.map(({ name, in: place, schema, required, description }) => [
          code(name),
          place,
          typeOf(schema, SHAPES),
          required ? 'yes' : '',
          description ?? schema.description ?? '',
        ]),
      )

function body(label: string, schema: Schema | undefined): string {
  if (schema === undefined) return `${label}.`
  const fields = fieldTable(schema, SHAPES)
  const type = fields === undefined || schema.items ? `: ${typeOf(schema, SHAPES)}` : ':'
  return `${label}${type}${fields === undefined ? '' : `\n\n${fields}`}`
}

function success(status: string, { description, content = {} }: Response): string {
  const label = `${code(status)} ${description.replace(/\.$/, '')}`
  const bodies = Object.values(content)
  return bodies.length === 0 ? `${label}.` : bodies.map(({ schema }) => body(label, schema)).join('\n\n')
}

function shapes({ components }: Document, title: string): string {
  const sections = Object.entries(components.schemas).map(([name, schema]) =>
    [`## ${name}`, schema.description, fieldTable(schema, '') ?? `Type: ${typeOf(schema, '')}`]
      .filter((part) => part !== undefined)
      .join('\n\n'),
  )
  return [`# ${title}: shapes`, ...sections].join('\n\n')
}
