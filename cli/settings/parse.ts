import { type Alias, type Document, LineCounter, parseAllDocuments, visit } from 'yaml'
import type { Env } from '../world.ts'
import { offsetOf, type Place, type PlacedFault, placeAt } from './place.ts'
import { substitute } from './variables.ts'

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
