import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Pair,
} from 'yaml'

/** Line and column count from 1. */
export type SourceLocation = { file: string; line: number; column: number }

/** `location` is undefined for faults outside files. */
export type LocatedFault = { location: SourceLocation | undefined; code: string; message: string }

/** Of a JSON pointer (RFC 6901). */
export const partsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

type Found = { node: Node | undefined; key: Node | undefined; isWhole: boolean }

/**
 * The offset of the value at a path (with `atKey`: of its name), or of the nearest enclosing node that
 * exists.
 */
export function offsetOf(document: Document, path: readonly (string | number)[], atKey = false): number {
  const { node, key, isWhole } = find(document, path)
  const nearest = isWhole && atKey ? key : node
  return nearest?.range?.[0] ?? key?.range?.[0] ?? 0
}

function find(document: Document, path: readonly (string | number)[]): Found {
  let found: Found = { node: document.contents ?? undefined, key: undefined, isWhole: true }
  for (const part of path) {
    const next = within(found.node, part, document)
    if (!next) return { ...found, isWhole: false }
    found = next
  }
  return found
}

function within(node: Node | undefined, part: string | number, document: Document): Found | undefined {
  const whole = isAlias(node) ? node.resolve(document) : node
  if (isSeq(whole)) return foundAt(whole.items[Number(part)], undefined)
  if (!isMap(whole)) return undefined
  const pair = whole.items.find((item: Pair) => isScalar(item.key) && String(item.key.value) === String(part))
  return pair && foundAt(pair.value, pair.key)
}

function foundAt(value: unknown, key: unknown): Found | undefined {
  if (!isNode(value) && !isNode(key)) return undefined
  return { node: isNode(value) ? value : undefined, key: isNode(key) ? key : undefined, isWhole: true }
}

export function locationAt(
  offset: number,
  { file, lines }: { file: string; lines: LineCounter },
): SourceLocation {
  const { line, col } = lines.linePos(offset)
  // an empty text has no lines
  return { file, line: line || 1, column: col || 1 }
}

/** Terminals turn this format into a link. */
export const shownFault = ({ location, code, message }: LocatedFault): string =>
  `${location ? `${location.file}:${location.line}:${location.column}: ` : ''}${message} (${code})`

/** By file and line; faults without a location last. */
export const inOrder = (faults: readonly LocatedFault[]): LocatedFault[] =>
  faults.toSorted(({ location: a }, { location: b }) => {
    if (!a || !b) return Number(!a) - Number(!b)
    if (a.file !== b.file) return a.file < b.file ? -1 : 1
    return a.line - b.line || a.column - b.column
  })
