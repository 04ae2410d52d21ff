import { objectOf } from './json-objects.ts'

/**
 * JSON.parse for untrusted texts. V8 confuses names with escapes (nodejs/node#63785, in Node 24 and 26): if an earlier
 * name is as long and equals the start of the spelling, V8 returns that one. After the name `\u`, it reads
 * `"\u540d\u524d"` as `\u`, so anyone could rename members of other senders' calls.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  const plain = withPlainNames(text)
  return plain.restore(JSON.parse(plain.text))
}

/** The most characters of a name, as spelled in the JSON. */
export const NAME_CHARS = 10_000

/**
 * Cuts longer names to NAME_CHARS and adds an ellipsis, so that the caller can refuse them by their length. V8 hashes
 * names of more than 16,383 characters by their length alone and keeps them all: after 2,000 of them, each new one took
 * 12 ms.
 * @returns the text itself if nothing is cut.
 */
export function cutLongNames(text: string): string {
  const parts: string[] = []
  let done = 0
  for (const { open, end } of longNames(text)) {
    const kept = text.slice(open + 1, open + 1 + NAME_CHARS)
    parts.push(text.slice(done, open + 1), kept.replaceAll(/["\\]/g, '_'), '…')
    done = end
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(done)
}

export const hasLongName = (text: string): boolean => !longNames(text).next().done

/** Where each long name opens and ends. Takes microseconds for most texts: they have no long string at all. */
function* longNames(text: string): Generator<{ open: number; end: number }> {
  if (!hasLongGap(text)) return
  for (let open = text.indexOf('"'); open !== -1; ) {
    const end = closingQuote(text, open + 1)
    if (end === -1) return
    if (end - open - 1 > NAME_CHARS && isName(text, end + 1)) yield { open, end }
    open = text.indexOf('"', end + 1)
  }
}

/** Whether a string, or the text between two, may be longer than NAME_CHARS. */
function hasLongGap(text: string): boolean {
  for (let at = text.indexOf('"'); at !== -1 && text.length - at > NAME_CHARS; ) {
    const next = lastBoundary(text, at + NAME_CHARS + 1)
    if (next <= at) return true
    at = next
  }
  return false
}

/** The last quote up to `from` without a backslash before it: it begins or ends a string. */
function lastBoundary(text: string, from: number): number {
  let at = text.lastIndexOf('"', from)
  while (at > 0 && text.charCodeAt(at - 1) === BACKSLASH) at = text.lastIndexOf('"', at - 1)
  return at
}

/** @returns -1 if the string does not end. */
export function closingQuote(text: string, from: number): number {
  let end = text.indexOf('"', from)
  while (end !== -1 && isEscapedAt(text, end)) end = text.indexOf('"', end + 1)
  return end
}

/** Whether an odd number of backslashes precedes it. */
function isEscapedAt(text: string, at: number): boolean {
  let from = at
  while (text.charCodeAt(from - 1) === BACKSLASH) from -= 1
  return (at - from) % 2 === 1
}

/** A text that V8 reads correctly. `restore` gives the members of the parsed value their names. */
export type PlainNames = { text: string; restore(value: unknown): unknown }

/** Spells names without escapes. A name that needs an escape gets a short placeholder until `restore`. */
export function withPlainNames(text: string): PlainNames {
  if (!text.includes('\\')) return { text, restore: (value) => value }
  const parts: string[] = []
  /** By spelling, because the calls of a batch often have the same names. */
  const safeNames = new Map<string, string>()
  /** By real name, which may be spelled in several ways. */
  const replacements = new Map<string, string>()
  let done = 0
  for (let open = text.indexOf('"'); open !== -1; ) {
    const { end, isEscaped } = endOfString(text, open + 1)
    // unterminated
    if (end >= text.length) break
    if (isEscaped && isName(text, end + 1)) {
      const spelled = text.slice(open, end + 1)
      const isFull = safeNames.size === MAX_NAMES
      const safe = safeNames.get(spelled) ?? (isFull ? undefined : safeName(spelled, replacements))
      // V8 reads the rest as it is
      if (safe === undefined) break
      safeNames.set(spelled, safe)
      parts.push(text.slice(done, open + 1), safe)
      done = end
    }
    open = text.indexOf('"', end + 1)
  }
  return {
    text: parts.length === 0 ? text : parts.join('') + text.slice(done),
    restore(value) {
      if (replacements.size === 0) return value
      return restored(value, new Map([...replacements].map(([name, short]) => [short, name])))
    },
  }
}

/** Different names with escapes: 45,000 would take 0.2 s. */
const MAX_NAMES = 2_500

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** The delete character: as one byte, it does not turn the text into UTF-16, which is slower. */
const MARK = '\x7f'
const MARK_CODE = 0x7f

/** The position of the closing quote. A mark in the text counts as an escape, so that it is replaced too. */
function endOfString(text: string, from: number): { end: number; isEscaped: boolean } {
  let isEscaped = false
  let end = from
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === QUOTE) break
    if (code === BACKSLASH) end += 1
    if (code === BACKSLASH || code === MARK_CODE) isEscaped = true
  }
  return { end, isEscaped }
}

/** Whether a colon follows. */
function isName(text: string, from: number): boolean {
  let at = from
  while (' \t\n\r'.includes(text.charAt(at)) && at < text.length) at += 1
  return text[at] === ':'
}

/** What JSON has to escape, and the mark. */
const UNSAFE = /[^ !#-[\]-~\x80-\uffff]/

/**
 * @param replacements gets the name if it is replaced.
 * @returns undefined if the spelling is invalid: then the whole text is.
 */
function safeName(spelled: string, replacements: Map<string, string>): string | undefined {
  const name = nameOf(spelled)
  if (name === undefined) return undefined
  if (!UNSAFE.test(name)) return name
  const short = replacements.get(name) ?? MARK + replacements.size.toString(36)
  replacements.set(name, short)
  return short
}

function nameOf(spelled: string): string | undefined {
  try {
    return JSON.parse(spelled)
  } catch {
    return undefined
  }
}

/**
 * Without recursion, because values may be nested deeply. Objects without marks stay as they are: one mark must not make
 * a large text expensive.
 */
function restored(value: unknown, names: ReadonlyMap<string, string>): unknown {
  const root: Container = { value }
  const open: (Container | unknown[])[] = [root]
  /** Its own values come later. */
  function keep<K extends number | string>(parent: Record<K, unknown>, key: K, inner: object): void {
    const kept = Array.isArray(inner) ? inner : renamed(inner as Container, names)
    // assigning the same value would take as long as copying
    if (kept !== inner) parent[key] = kept
    open.push(kept)
  }
  for (let parent = open.pop(); parent; parent = open.pop())
    if (Array.isArray(parent)) {
      for (let index = 0; index < parent.length; index++) {
        const inner: unknown = parent[index]
        if (typeof inner === 'object' && inner !== null) keep(parent, index, inner)
      }
    }
    // much faster than Object.keys
    else
      for (const key in parent) {
        const inner = parent[key]
        if (typeof inner === 'object' && inner !== null) keep(parent, key, inner)
      }
  return root.value
}

type Container = { [key: string]: unknown }

function renamed(members: Container, names: ReadonlyMap<string, string>): Container {
  for (const name in members)
    if (names.has(name))
      return objectOf(Object.entries(members).map(([each, inner]) => [names.get(each) ?? each, inner]))
  return members
}
