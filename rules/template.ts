import {
  type Call,
  hasEach,
  isContainer,
  type Json,
  MAX_BODY_BYTES,
  numbersWork,
  printColumn,
  type Read,
  readEach,
  readOne,
  spend,
  spendPrinting,
} from './call.ts'
import { isJsonRoot, isWrong, parsePath } from './path.ts'
import { PLACEHOLDER_FILTERS, type PlaceholderFilter, textOf } from './placeholder-filters.ts'

/** `print`: the value as JSON, if that is cheaper than stringifying it. */
export type Placeholder = { read: Read; print?: (call: Call) => string | undefined }

export type Template = readonly (string | Placeholder)[]

const MAX_FILTERS = 5

/** A placeholder has a path or a JSON string, then filters: `{{properties.total | default: 0}}`. */
export function parseTemplate(text: string): Template | { wrong: string } {
  const parts: (string | Placeholder)[] = []
  let position = 0
  for (;;) {
    const begin = text.indexOf('{{', position)
    if (begin > position || begin < 0) parts.push(text.slice(position, begin < 0 ? undefined : begin))
    if (begin < 0) return parts.filter((part) => part !== '')
    const pieces = piecesOf(text, begin + 2)
    if (typeof pieces === 'string') return { wrong: unclosed(begin + 1, pieces) }
    const placeholder = compilePlaceholder(pieces.texts)
    if (isWrong(placeholder))
      return { wrong: `{{${text.slice(begin + 2, pieces.end).trim()}}}: ${placeholder.wrong}` }
    parts.push(placeholder)
    position = pieces.end + 2
  }
}

type Pieces = { texts: string[]; end: number }

const unclosed = (character: number, missing: Missing): string =>
  missing === '"'
    ? `in the placeholder at character ${character}, a quoted text is not closed: add "`
    : `the placeholder at character ${character} is not closed: add }}`

type Missing = '"' | '}}'

/** Splits at `|`, up to `}}`, outside quotes. @returns the pieces, or what is missing. */
function piecesOf(text: string, begin: number): Pieces | Missing {
  const texts: string[] = []
  let from = begin
  let quoted = false
  for (let at = begin; at < text.length; at++) {
    const character = text[at]
    if (character === '"') quoted = !quoted
    else if (quoted) at += character === '\\' ? 1 : 0
    else if (character === '|' || text.startsWith('}}', at)) {
      texts.push(text.slice(from, at).trim())
      if (character !== '|') return { texts, end: at }
      from = at + 1
    }
  }
  return quoted ? '"' : '}}'
}

type Compiled = Placeholder | { wrong: string }

function compilePlaceholder([source = '', ...filters]: readonly string[]): Compiled {
  if (filters.length > MAX_FILTERS) return { wrong: `at most ${MAX_FILTERS} filters` }
  let placeholder = compileSource(source)
  if (isWrong(placeholder)) return placeholder
  for (const text of filters) {
    const filter = parseFilter(text)
    if (isWrong(filter)) return filter
    placeholder = { read: filtered(placeholder.read, filter) }
  }
  return placeholder
}

function compileSource(source: string): Compiled {
  if (source.startsWith('"')) {
    const text = jsonOf(source)
    return typeof text === 'string' ? { read: () => text } : { wrong: `${source} is not a JSON string` }
  }
  const path = parsePath(source)
  if (isWrong(path)) return path
  if (path.keys.length === 0 && isJsonRoot(path.root))
    return { read: readOne(path), print: printColumn(path.root) }
  if (!hasEach(path)) return { read: readOne(path) }
  const read = readEach(path)
  return { read: (call) => noneMissing(read(call)) }
}

const noneMissing = (values: Json[]) => (values.length === 0 ? undefined : values)

/** `argument`: reads a path or returns a constant. */
type Filter = { apply: PlaceholderFilter['apply']; argument: Read }

function parseFilter(text: string): Filter | { wrong: string } {
  const [, name = '', given] = /^(\w+)(?:\s*:\s*(.+))?$/s.exec(text) ?? []
  const filter = Object.hasOwn(PLACEHOLDER_FILTERS, name) ? PLACEHOLDER_FILTERS[name] : undefined
  if (!filter) return { wrong: `the filter ${text} is unknown: use one of ${NAMES}` }
  const path = name === 'default' && given !== undefined ? parsePath(given) : undefined
  if (path && !isWrong(path))
    return hasEach(path)
      ? { wrong: `${given}: the path of a default cannot contain [*]` }
      : { apply: filter.apply, argument: readOne(path) }
  const argument = given === undefined ? undefined : jsonOf(given)
  if (given !== undefined && argument === undefined)
    return { wrong: `${given} is neither JSON nor a path: put strings in double quotes` }
  const wrong =
    filter.wrong?.(argument) ?? (filter.wrong || argument === undefined ? undefined : 'takes no argument')
  return wrong ? { wrong: `the filter ${name} ${wrong}` } : { apply: filter.apply, argument: () => argument }
}

const NAMES = Object.keys(PLACEHOLDER_FILTERS).join(', ')

function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Printing 32 KB, without its slow numbers. */
const OBJECT_WORK = 10_000

function filtered(read: Read, { apply, argument }: Filter): Read {
  return (call) => {
    const value = read(call)
    const work = workOf(value, call)
    const result = spend(call.budget, work) ? apply(value, argument(call)) : undefined
    if (typeof result !== 'string' || result.length <= MAX_BODY_BYTES) return result
    call.budget.output = -1
    return
  }
}

function workOf(value: Json | undefined, call: Call): number {
  if (typeof value === 'string') return value.length
  return isContainer(value) ? OBJECT_WORK + numbersWork(call) : 100
}

/** Undefined if the body would become too large, or the work too much. */
export function fill(template: Template, call: Call): string | undefined {
  let text = ''
  for (const part of template) {
    const value = typeof part === 'string' ? part : part.read(call)
    if (!spendPrinting(value, call)) return
    text += textOf(value)
    if (text.length > call.budget.output) return
  }
  return text
}

export function countPlaceholders(text: string): number {
  const template = parseTemplate(text)
  return isWrong(template) ? 0 : template.filter((part) => typeof part !== 'string').length
}
