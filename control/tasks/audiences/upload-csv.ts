import type { Change } from './comparison.ts'
import {
  linesOf,
  MAX_CHARS,
  namesUserId,
  type OnInvalid,
  parsedValue,
  plainName,
  SEPARATORS,
  type Separator,
  takeLine,
  UploadFault,
  userIdOf,
} from './upload-lines.ts'

/**
 * CSV by RFC 4180, also with semicolons or tabs, read strictly: a misread file could remove members. Not a library:
 * this reader shares decoding, line numbers and limits with other formats (`linesOf`), continues after a fault, and
 * adds no dependency to control.
 */

/** `number`: the record's first line, from 1. */
export type CsvRecord = { number: number } & ({ fields: string[] } | { fault: string })

/** A quoted field may contain line breaks. Holds one record. */
function createRecordReader(separator: Separator): {
  /** @returns the record that the line completes. @throws UploadFault `line_too_long` */
  read(line: string, number: number): CsvRecord | undefined
  /** @returns the fault of a record that does not end. */
  end(): CsvRecord | undefined
} {
  const readField = createFieldReader(separator)
  let fields: string[] = []
  let open: string | undefined
  let begunAt = 0
  let length = 0

  function ended(record: { fields: string[] } | { fault: string }): CsvRecord {
    const number = begunAt
    fields = []
    open = undefined
    begunAt = 0
    length = 0
    return { number, ...record }
  }

  function read(line: string, number: number): CsvRecord | undefined {
    if (begunAt === 0) {
      if (line.trim() === '') return undefined
      begunAt = number
    }
    length += line.length + 1
    if (length > MAX_CHARS)
      throw new UploadFault('line_too_long', begunAt, `begins a record of more than ${MAX_CHARS} characters`)
    for (let at = 0; ; at++) {
      const field = readField(line, at, open)
      if ('fault' in field) return ended(field)
      open = field.open
      if (field.open !== undefined) return undefined
      fields.push(field.value)
      at = field.end
      if (at >= line.length || (at === line.length - 1 && line[at] === '\r')) return ended({ fields })
    }
  }

  return {
    read,
    end: () => (begunAt === 0 ? undefined : ended({ fault: 'begins a quoted field that does not end' })),
  }
}

/** `end`: position of the separator after it, or of the line's end. `open`: continues on the next line. */
type Field = { value: string; end: number; open?: undefined } | { open: string } | { fault: string }

function createFieldReader(separator: Separator) {
  function plainField(line: string, from: number): Field {
    const next = line.indexOf(separator, from)
    const last = line.endsWith('\r') ? line.length - 1 : line.length
    const end = next === -1 ? Math.max(from, last) : next
    const value = line.slice(from, end)
    return value.includes('"') ? { fault: 'has a quote in a field without quotes' } : { value, end }
  }

  function closedField(line: string, end: number, value: string): Field {
    const isEnd = end === line.length || line[end] === separator || line.slice(end) === '\r'
    return isEnd ? { value, end } : { fault: 'has text after a quoted field' }
  }

  return (line: string, from: number, open: string | undefined): Field => {
    if (open === undefined && line[from] !== '"') return plainField(line, from)
    let text = open ?? ''
    for (let at = open === undefined ? from + 1 : from; ; ) {
      const quote = line.indexOf('"', at)
      if (quote === -1) return { open: `${text}${line.slice(at)}\n` }
      text += line.slice(at, quote)
      at = quote + 1
      if (line[at] !== '"') return closedField(line, at, text)
      text += '"'
      at += 1
    }
  }
}

const COLUMNS = { audience: ['userId'], trait: ['userId', 'value'] } as const

/** The first separator that yields a user id column in the header. */
const separatorOf = (header: string): Separator =>
  SEPARATORS.find((separator) => namesUserId(header, separator)) ?? ','

/**
 * The first record names the columns in any order and case, with or without underscores. Ignores other columns.
 * @param onInvalid gets faults of skipped records; without it they are thrown.
 * @throws UploadFault, and whatever the text throws.
 */
export async function* csvChanges(
  text: AsyncIterable<Buffer>,
  kind: keyof typeof COLUMNS,
  onInvalid?: OnInvalid,
): AsyncGenerator<Change[]> {
  let separator: Separator = ','
  let reader: ReturnType<typeof createRecordReader> | undefined
  let header: Header | undefined

  function readLine(line: string, number: number): CsvRecord | undefined {
    if (!reader && line.trim() !== '') {
      separator = separatorOf(line)
      reader = createRecordReader(separator)
    }
    return reader?.read(line, number)
  }

  function changeOf(record: CsvRecord): Change | undefined {
    const known = header
    if (known) return takeLine(() => change(record, kind, known), onInvalid)
    header = headerOf(record, kind, separator)
    return undefined
  }

  for await (const lines of linesOf(text))
    yield lines.flatMap(({ line, number }) => {
      const record = readLine(line, number)
      return (record && changeOf(record)) ?? []
    })
  const unfinished = reader?.end()
  // throws or reports its fault
  if (unfinished) changeOf(unfinished)
}

type Header = { width: number; userId: number; value: number; hasDecimalCommas: boolean }

/** @throws UploadFault `invalid_line`: without a header, no line can be read. */
function headerOf(record: CsvRecord, kind: keyof typeof COLUMNS, separator: Separator): Header {
  const names = 'fields' in record ? record.fields.map(plainName) : []
  const places = COLUMNS[kind].map((name) => {
    const place = names.indexOf(plainName(name))
    if (place !== -1 && place === names.lastIndexOf(plainName(name))) return place
    const message = `must name the columns, separated by commas, semicolons or tabs, and ${name} once`
    throw new UploadFault('invalid_line', record.number, message)
  })
  const [userId = 0, value = 0] = places
  return { width: names.length, userId, value, hasDecimalCommas: separator !== ',' }
}

function change(record: CsvRecord, kind: keyof typeof COLUMNS, header: Header): Change {
  const { number } = record
  if ('fault' in record) throw new UploadFault('invalid_line', number, record.fault)
  const { fields } = record
  if (fields.length !== header.width) {
    const message = `has ${counted(fields.length, 'field')}, but the first line names ${counted(header.width, 'column')}`
    throw new UploadFault('invalid_line', number, message)
  }
  const userId = userIdOf(fields[header.userId], number)
  if (kind === 'audience') return { userId, value: 'true' }
  const value = fields[header.value] ?? ''
  if (header.hasDecimalCommas && DECIMAL_COMMA.test(value)) {
    const advice = 'write numbers with a decimal point, or send text as application/x-ndjson'
    throw new UploadFault('invalid_line', number, `has the value ${value.slice(0, 50)}: ${advice}`)
  }
  return { userId, value: csvValue(value, number) }
}

/** Where Excel writes semicolons, it writes 1.234,5 for 1234.5, which would be text. */
const DECIMAL_COMMA = /^\s*[+-]?\d[\d.]*,\d+\s*$/

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`

const JSON_SCALAR = /^(-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?|true|false)$/

/** Numbers, `true` and `false` keep their type. Empty: no value. */
function csvValue(text: string, number: number): string | null {
  if (text === '') return null
  return parsedValue(JSON_SCALAR.test(text) ? text : JSON.stringify(text), number)
}
