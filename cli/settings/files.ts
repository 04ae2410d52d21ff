import { access, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Alias, type Document, LineCounter, parseAllDocuments, visit, type YAMLError } from 'yaml'
import { messageOf } from '../../process/thrown.ts'
import { CliError, type Context, type Env, utf8Of } from '../context.ts'
import { type LocatedFault, locationAt, offsetOf, type SourceLocation } from './location.ts'
import { substitute } from './variables.ts'

/** Takes files, folders (their YAML files at any depth, except hidden ones) and `-`. @throws CliError cannot_read */
export async function readFiles(
  paths: readonly string[],
  { readInput }: Pick<Context, 'readInput'>,
): Promise<File[]> {
  const files: File[] = []
  for (const path of paths) {
    if (path === '-') files.push({ name: '(standard input)', text: await readInput() })
    else
      for (const name of await filesAt(path))
        files.push({ name, text: utf8Of(await readFile(name).catch(refuse), name) })
  }
  return files
}

async function filesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch(refuse)
  if (!found.isDirectory()) return [path]
  const names = await readdir(path, { recursive: true }).catch(refuse)
  const isHidden = (name: string) => name.split('/').some((part) => part.startsWith('.'))
  const files = names.filter((name) => /\.ya?ml$/.test(name) && !isHidden(name)).sort()
  if (files.length === 0) throw new CliError('cannot_read', `${path} contains no .yaml or .yml files`)
  return files.map((name) => join(path, name))
}

function refuse(cause: NodeJS.ErrnoException): never {
  const message = cause.code === 'ENOENT' ? `no such file or folder: ${cause.path}` : cause.message
  throw new CliError('cannot_read', message, { cause })
}

/** `isGenerated`: never edited by hand, so always overwritten. */
export type NewFile = { path: string; text: string; isGenerated?: true }

/** Writes nothing if a file exists, unless forced. @throws CliError cannot_write */
export async function writeNew(files: readonly NewFile[], { force }: { force: boolean }): Promise<void> {
  for (const { path, isGenerated } of files) if (!force && !isGenerated) await refuseExisting(path)
  for (const { path, text } of files) {
    try {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
    } catch (cause) {
      throw cannotWrite(path, cause)
    }
  }
}

/** @throws CliError cannot_write */
export async function refuseExisting(path: string): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  )
  if (isThere) throw new CliError('cannot_write', `${path} already exists; use --force to overwrite it`)
}

export const cannotWrite = (path: string, cause: unknown): CliError =>
  new CliError('cannot_write', `Cannot write ${path}: ${messageOf(cause)}`, { cause })

export type File = { name: string; text: string }

export type Parsed = {
  /** Parsed JSON; `null` for an empty document. */
  value: unknown
  /** The location of a value; with `atKey`, of its name. */
  at(path: readonly (string | number)[], atKey?: boolean): SourceLocation
}

export type ParsedFile = { documents: Parsed[]; faults: LocatedFault[]; filledIn: string[] }

/** Collects all faults. */
export function parse({ name: file, text }: File, env: Env): ParsedFile {
  const lines = new LineCounter()
  const faults: LocatedFault[] = []
  const filledIn: string[] = []
  const report = (offset: number, fault: { code: string; message: string }) =>
    faults.push({ location: locationAt(offset, { file, lines }), ...fault })
  const options = { lineCounter: lines, prettyErrors: false, stringKeys: true } as const
  const documents = [...parseAllDocuments(text, options)].flatMap((document): Parsed[] => {
    // for an unknown tag, yaml only warns
    for (const { offset, message } of relevant([...document.errors, ...document.warnings]))
      report(offset, { code: 'invalid_yaml', message })
    filledIn.push(...fillIn(document, env, report))
    const value = contentOf(document, report)
    if (value === undefined) return []
    return [{ value, at: (path, atKey) => locationAt(offsetOf(document, path, atKey), { file, lines }) }]
  })
  return { documents, faults, filledIn }
}

/** YAML reads `properties.products[*].sku` and `{{event}}` without quotes as lists, aliases and objects. */
const NEEDS_QUOTES: ReadonlySet<string> = new Set(['UNEXPECTED_TOKEN', 'NON_STRING_KEY', 'BAD_SCALAR_START'])

/** What follows a colon is from the file, and may be a secret (`sharedSecret: *abc`). */
const withoutQuote = (message: string) => message.replace(/: .*$/s, '')

/** After an unexpected token, further errors are usually its consequences. */
function relevant(errors: readonly YAMLError[]) {
  const first = errors.findIndex(({ code }) => code === 'UNEXPECTED_TOKEN')
  const before = first < 0 ? errors : errors.slice(0, first + 1)
  return before.map(({ pos, code, message }) => ({
    offset: pos[0],
    message: `${withoutQuote(message)}${NEEDS_QUOTES.has(code) ? '. Put text with brackets, braces or * in quotes' : ''}`,
  }))
}

const NOT_A_NAME = { code: 'invalid_form', message: '__proto__ is not allowed as a name' }

type Report = (offset: number, fault: { code: string; message: string }) => void

function fillIn(document: Document, env: Env, report: Report): string[] {
  const values: string[] = []
  visit(document, {
    Scalar(role, node) {
      if (role === 'key') {
        // the API rejects it as an attack
        if (node.value === '__proto__') report(node.range?.[0] ?? 0, NOT_A_NAME)
        return
      }
      // JSON has no way to send -0: the API stores 0
      if (Object.is(node.value, -0)) node.value = 0
      if (typeof node.value !== 'string') return
      const { text, filledIn, faults } = substitute(node.value, env)
      node.value = text
      values.push(...filledIn)
      for (const fault of faults) report(node.range?.[0] ?? 0, fault)
    },
  })
  return values
}

function contentOf(document: Document, report: Report): unknown {
  if (document.errors.length > 0) return undefined
  try {
    return document.toJS()
  } catch (error) {
    const message = withoutQuote(messageOf(error))
    report(wrongAlias(document)?.range?.[0] ?? 0, { code: 'invalid_yaml', message })
    return undefined
  }
}

/** An alias without an anchor; undefined if valid aliases expand to too much. */
function wrongAlias(document: Document): Alias | undefined {
  let found: Alias | undefined
  visit(document, {
    Alias(_, node) {
      if (!node.resolve(document)) found ??= node
    },
  })
  return found
}
