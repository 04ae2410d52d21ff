import { access, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Alias, type Document, LineCounter, parseAllDocuments, visit } from 'yaml'
import { CliFault, type Env, type World } from '../world.ts'
import { offsetOf, type Place, type PlacedFault, placeAt } from './place.ts'
import { substitute } from './variables.ts'

/** Each path is a file, a folder of YAML files (with those of its folders, but for hidden ones), or `-`. @throws CliFault cannot_read */
export async function readFiles(
  paths: readonly string[],
  { readInput }: Pick<World, 'readInput'>,
): Promise<File[]> {
  const files: File[] = []
  for (const path of paths) {
    if (path === '-') files.push({ name: '(standard input)', text: await readInput() })
    else
      for (const name of await filesAt(path))
        files.push({ name, text: await readFile(name, 'utf8').catch(refuse) })
  }
  return files
}

async function filesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch(refuse)
  if (!found.isDirectory()) return [path]
  const names = await readdir(path, { recursive: true }).catch(refuse)
  const isHidden = (name: string) => name.split('/').some((part) => part.startsWith('.'))
  const files = names.filter((name) => /\.ya?ml$/.test(name) && !isHidden(name)).sort()
  if (files.length === 0) throw new CliFault('cannot_read', `${path} holds no file ending with .yaml or .yml`)
  return files.map((name) => join(path, name))
}

function refuse(cause: NodeJS.ErrnoException): never {
  const message = cause.code === 'ENOENT' ? `there is no file or folder ${cause.path}` : cause.message
  throw new CliFault('cannot_read', message, { cause })
}

/** `isMade`: nobody edits it, so that a newer one may always take its place. */
export type NewFile = { path: string; text: string; isMade?: true }

/** Writes all of them, or none where one is there already. @throws CliFault cannot_write */
export async function writeNew(files: readonly NewFile[], { force }: { force: boolean }): Promise<void> {
  for (const { path, isMade } of files)
    if (!force && !isMade && (await isThere(path)))
      throw new CliFault('cannot_write', `${path} is there already: --force writes over it`)
  try {
    for (const { path, text } of files) {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text)
    }
  } catch (cause) {
    throw new CliFault('cannot_write', cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

export type File = { name: string; text: string }

export type Parsed = {
  /** As JSON would have it; `null` for an empty document. */
  value: unknown
  /** Where a path leads; `atKey`: to the name there, and not to its value. */
  at(path: readonly (string | number)[], atKey?: boolean): Place
}

/** `filledIn`: the values of the variables that were. */
export type ParsedFile = { documents: Parsed[]; faults: PlacedFault[]; filledIn: string[] }

/** The documents of a YAML file with their variables filled in, and everything that is wrong with them. */
export function parse({ name: file, text }: File, env: Env): ParsedFile {
  const lines = new LineCounter()
  const faults: PlacedFault[] = []
  const filledIn: string[] = []
  const tell = (offset: number, fault: { code: string; message: string }) =>
    faults.push({ place: placeAt(offset, { file, lines }), ...fault })
  const options = { lineCounter: lines, prettyErrors: false, stringKeys: true } as const
  const documents = [...parseAllDocuments(text, options)].flatMap((document): Parsed[] => {
    // a tag that means nothing to us is a warning
    for (const { pos, message } of [...document.errors, ...document.warnings])
      tell(pos[0], { code: 'invalid_yaml', message })
    filledIn.push(...fillIn(document, env, tell))
    const value = contentOf(document, tell)
    if (value === undefined) return []
    return [{ value, at: (path, atKey) => placeAt(offsetOf(document, path, atKey), { file, lines }) }]
  })
  return { documents, faults, filledIn }
}

const NOT_A_NAME = { code: 'invalid_form', message: 'nothing can be called __proto__' }

type Tell = (offset: number, fault: { code: string; message: string }) => void

function fillIn(document: Document, env: Env, tell: Tell): string[] {
  const values: string[] = []
  visit(document, {
    Scalar(role, node) {
      if (role === 'key') {
        // the API takes a body with such a name for an attack
        if (node.value === '__proto__') tell(node.range?.[0] ?? 0, NOT_A_NAME)
        return
      }
      if (typeof node.value !== 'string') return
      const { text, filledIn, faults } = substitute(node.value, env)
      node.value = text
      values.push(...filledIn)
      for (const fault of faults) tell(node.range?.[0] ?? 0, fault)
    },
  })
  return values
}

function contentOf(document: Document, tell: Tell): unknown {
  if (document.errors.length > 0) return undefined
  try {
    return document.toJS()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    tell(wrongAlias(document)?.range?.[0] ?? 0, { code: 'invalid_yaml', message })
    return undefined
  }
}

/** One that leads nowhere; undefined: all of them together say too much. */
function wrongAlias(document: Document): Alias | undefined {
  let found: Alias | undefined
  visit(document, {
    Alias(_, node) {
      if (!node.resolve(document)) found ??= node
    },
  })
  return found
}
