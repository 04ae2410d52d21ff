/**
 * JSON.parse for texts of other people. V8 takes the name of a member for an earlier one if that equals the start of its
 * spelling: after a `\u`, it reads `"\u540d\u524d"` as `\u` (nodejs/node#63785, in Node 24). So anyone could rename
 * members of other senders' calls.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  const plain = withPlainNames(text)
  return plain.restore(JSON.parse(plain.text))
}

/** A text that V8 reads correctly. `restore` gives the members of the parsed value their names. */
export type PlainNames = { text: string; restore(value: unknown): unknown }

/** Spells names without escapes. Characters that need one are marked, until they are restored. */
export function withPlainNames(text: string): PlainNames {
  if (!text.includes('\\')) return { text, restore: (value) => value }
  const parts: string[] = []
  /** By their spelling: the calls of a batch often have the same. */
  const known = new Map<string, string>()
  const names = new Map<string, string>()
  let done = 0
  for (let open = text.indexOf('"'); open !== -1; ) {
    const { end, isEscaped } = endOfString(text, open + 1)
    // unterminated
    if (end >= text.length) break
    if (isEscaped && isName(text, end + 1)) {
      const spelled = text.slice(open, end + 1)
      const isFull = known.size === MOST_NAMES
      const safe = known.get(spelled) ?? (isFull ? undefined : marked(spelled, names))
      if (safe === undefined) break
      known.set(spelled, safe)
      parts.push(text.slice(done, open + 1), safe)
      done = end
    }
    open = text.indexOf('"', end + 1)
  }
  return {
    text: parts.length === 0 ? text : parts.join('') + text.slice(done),
    restore: (value) => (names.size === 0 ? value : restored(value, names)),
  }
}

/** Different names with escapes. The rest are left to V8: reading 45,000 of them takes 0.2 s. */
const MOST_NAMES = 2_500

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** A delete character: one byte, as two would slow down all names. */
const MARK = '\x7f'
const MARK_CODE = 0x7f

/** The position of the closing quote. A mark counts as an escape. */
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
const UNSAFE = /[^ !#-[\]-~\x80-\uffff]/g

/**
 * @param names gets the name, if it is marked.
 * @returns undefined if the spelling is wrong: then the whole text is.
 */
function marked(spelled: string, names: Map<string, string>): string | undefined {
  const name = nameOf(spelled)
  if (name === undefined) return undefined
  const safe = name.replace(UNSAFE, (each) => MARK + each.charCodeAt(0).toString(16).padStart(4, '0'))
  if (safe !== name) names.set(safe, name)
  return safe
}

function nameOf(spelled: string): string | undefined {
  try {
    return JSON.parse(spelled)
  } catch {
    return undefined
  }
}

/** Without recursion, because values may be nested deeply. */
function restored(value: unknown, names: ReadonlyMap<string, string>): unknown {
  const root: Container = { value }
  const open: Container[] = [root]
  for (let parent = open.pop(); parent; parent = open.pop())
    for (const key of Object.keys(parent)) {
      const inner = parent[key]
      if (typeof inner !== 'object' || inner === null) continue
      const copy = (Array.isArray(inner) ? inner : renamed(inner, names)) as Container
      parent[key] = copy
      open.push(copy)
    }
  return root.value
}

type Container = { [key: string]: unknown }

const renamed = (members: object, names: ReadonlyMap<string, string>): object =>
  Object.fromEntries(Object.entries(members).map(([name, inner]) => [names.get(name) ?? name, inner]))
