import { CALL_LEVELS } from '../limits.ts'

/**
 * V8 takes the name of a member for an earlier one if that equals the start of its spelling: after a `\u`, it reads
 * `"\u540d\u524d"` as `\u` (nodejs/node#63785, in Node 24). So anyone could rename members of other senders' calls.
 * Names are therefore spelled without escapes first; characters that need one are marked, and restored afterwards.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  if (!text.includes('\\')) return JSON.parse(text)
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
      const safe = known.get(spelled) ?? marked(JSON.parse(spelled), names)
      known.set(spelled, safe)
      if (known.size > MOST_NAMES) break
      parts.push(text.slice(done, open + 1), safe)
      done = end
    }
    open = text.indexOf('"', end + 1)
  }
  const value: unknown = JSON.parse(parts.length === 0 ? text : parts.join('') + text.slice(done))
  return names.size === 0 ? value : restored(value, names, MOST_LEVELS)
}

/** Different names with escapes. The rest are left to V8: reading 45,000 of them takes 0.2 s. */
const MOST_NAMES = 2_500
/** Deeper values are refused anyway. */
const MOST_LEVELS = CALL_LEVELS + 10

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

/** @param names gets the name, if it is marked. */
function marked(name: string, names: Map<string, string>): string {
  const safe = name.replace(UNSAFE, (each) => MARK + each.charCodeAt(0).toString(16).padStart(4, '0'))
  if (safe !== name) names.set(safe, name)
  return safe
}

function restored(value: unknown, names: ReadonlyMap<string, string>, levels: number): unknown {
  if (typeof value !== 'object' || value === null || levels === 0) return value
  if (Array.isArray(value)) return value.map((each) => restored(each, names, levels - 1))
  const members = Object.entries(value)
  for (const member of members) {
    member[0] = names.get(member[0]) ?? member[0]
    member[1] = restored(member[1], names, levels - 1)
  }
  return Object.fromEntries(members)
}
