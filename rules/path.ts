import { nearest } from '../process/nearest.ts'

/** What a path can begin with. `true`: the field is JSON; otherwise a string. */
const ROOTS = {
  type: false,
  event: false,
  userId: false,
  anonymousId: false,
  previousId: false,
  groupId: false,
  name: false,
  category: false,
  properties: true,
  traits: true,
  context: true,
  timestamp: false,
  messageId: false,
  sourceId: false,
  receivedAt: false,
} as const

export type Root = keyof typeof ROOTS
export const ROOT_NAMES = Object.keys(ROOTS)
export type JsonRoot = { [R in Root]: (typeof ROOTS)[R] extends true ? R : never }[Root]
export const JSON_ROOTS = ['properties', 'traits', 'context'] as const satisfies readonly JsonRoot[]
export type TextRoot = Exclude<Root, JsonRoot>

/** `[*]`: every entry of a list. */
export const EACH = Symbol('[*]')

export type Key = string | number | typeof EACH
export type Path = { root: TextRoot; keys: readonly [] } | { root: JsonRoot; keys: readonly Key[] }

export const MAX_PATH_LENGTH = 512
const MAX_KEYS = 32

export const isJsonRoot = (root: Root): root is JsonRoot => ROOTS[root]
const isRoot = (name: string): name is Root => Object.hasOwn(ROOTS, name)

/** Anything without a meaning in a path or placeholder. */
const NAME = /[^\s.[\]{}|"\p{Cc}]+/uy
const KEY = /\.([^\s.[\]{}|"\p{Cc}]+)|\[(?:(\d{1,6})|(\*)|("(?:[^"\\]|\\.)*"))\]/uy

/** Such as `properties.items[0]["a b"]` or `properties.items[*].name`. @returns the path, or what is wrong. */
export function parsePath(text: string): Path | { wrong: string } {
  if (text.length > MAX_PATH_LENGTH) return { wrong: `a path has at most ${MAX_PATH_LENGTH} characters` }
  const name = at(NAME, text, 0)?.[0] ?? ''
  if (!isRoot(name)) return { wrong: unknownRoot(name) }
  const keys: Key[] = []
  for (let position = name.length; position < text.length; ) {
    const found = at(KEY, text, position)
    const key = found ? keyOf(found) : undefined
    if (key === undefined)
      return { wrong: `is invalid at character ${position + 1}: write .name, [0], [*] or ["a name"]` }
    keys.push(key)
    position += found?.[0].length ?? 0
  }
  if (keys.length > MAX_KEYS) return { wrong: `a path has at most ${MAX_KEYS} names and indexes` }
  if (isJsonRoot(name)) return { root: name, keys }
  return keys.length === 0 ? { root: name, keys: [] } : { wrong: `${name} has no fields` }
}

function unknownRoot(name: string): string {
  const near = nearest(name, ROOT_NAMES)
  const hint = near === undefined ? '' : `did you mean ${near}? `
  return `${hint}a path begins with one of ${ROOT_NAMES.join(', ')}, such as properties.total`
}

function at(pattern: RegExp, text: string, position: number): RegExpExecArray | null {
  pattern.lastIndex = position
  return pattern.exec(text)
}

/** Undefined if a quoted name is not a JSON string. */
function keyOf([, name, index, each, quoted]: RegExpExecArray): Key | undefined {
  if (name !== undefined) return name
  if (index !== undefined) return Number(index)
  if (each !== undefined) return EACH
  try {
    return JSON.parse(quoted ?? '') as string // the pattern matches only strings
  } catch {
    return undefined
  }
}

export const isWrong = <T extends object>(parsed: T | { wrong: string }): parsed is { wrong: string } =>
  'wrong' in parsed
