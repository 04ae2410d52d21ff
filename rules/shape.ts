import { type Call, type Json, spend, spendPrinting } from './call.ts'
import { isWrong } from './path.ts'
import { fill, type Placeholder, parseTemplate, type Template } from './template.ts'

/** @returns JSON; undefined if the value is missing. The caller checks the budget. */
export type Write = (call: Call) => string | undefined

const MAX_NESTING = 32

/** Prints as `JSON.stringify` does (see delivery/render.ts). @returns undefined if it cannot be compiled. */
export function compileShape(shape: unknown, depth = 1): Write | undefined {
  if (depth > MAX_NESTING) return
  if (typeof shape === 'string') return compileText(shape)
  if (Array.isArray(shape)) return compileList(shape, depth)
  if (typeof shape === 'object' && shape !== null) return compileObject(Object.entries(shape), depth)
  return constant(JSON.stringify(shape) ?? 'null')
}

const constant = (json: string): Write => {
  return ({ budget }) => {
    budget.output -= json.length
    return json
  }
}

function compileText(text: string): Write | undefined {
  const template = parseTemplate(text)
  if (isWrong(template)) return
  const [first = '', second] = template
  if (second !== undefined) return textWriter(template)
  return typeof first === 'string' ? constant(JSON.stringify(first)) : valueWriter(first)
}

/** A string that is only a placeholder keeps the type of its value. */
function valueWriter({ read, print }: Placeholder): Write {
  const json = print ?? ((call: Call) => printed(read(call), call))
  return (call) => {
    const text = call.budget.output < 0 ? undefined : json(call)
    return text === undefined ? undefined : written(text, call)
  }
}

/** JSON.stringify returns undefined for undefined. */
const printed = (value: Json | undefined, call: Call): string | undefined =>
  spendPrinting(value, call) ? JSON.stringify(value) : undefined

function textWriter(template: Template): Write {
  return (call) => {
    const text = call.budget.output < 0 ? undefined : fill(template, call)
    if (text !== undefined) return written(JSON.stringify(text), call)
    call.budget.output = -1
    return
  }
}

/** Stringifying takes time even without room in the output. */
function written(json: string, { budget }: Call): string | undefined {
  budget.output -= json.length
  return spend(budget, json.length) ? json : undefined
}

function compileList(entries: readonly unknown[], depth: number): Write | undefined {
  const writers = entries.map((entry) => compileShape(entry, depth + 1))
  const valid = writers.filter((write) => write !== undefined)
  if (valid.length < writers.length) return
  return (call) => `[${members(valid, call)}]`
}

function compileObject(entries: readonly [string, unknown][], depth: number): Write | undefined {
  const writers = entries.map(([name, value]) => {
    const write = compileShape(value, depth + 1)
    return write && named(`${JSON.stringify(name)}:`, write)
  })
  const valid = writers.filter((write) => write !== undefined)
  if (valid.length < writers.length) return
  return (call) => `{${members(valid, call)}}`
}

const named = (name: string, write: Write): Write => {
  return (call) => {
    const value = write(call)
    return value === undefined ? undefined : name + value
  }
}

/** Leaves out missing members. */
function members(writers: readonly Write[], call: Call): string {
  let text = ''
  for (const write of writers) {
    const member = write(call)
    if (member !== undefined) text += text === '' ? member : `,${member}`
  }
  return text
}
