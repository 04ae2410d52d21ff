import { RE2JS } from 're2js'

export const MAX_PATTERN_LENGTH = 1_024
/** Instructions of a compiled pattern. A match takes at most about 13 ns for each, for each character. */
const MAX_PROGRAM = 1_000

export type Pattern = { test: (text: string) => boolean; instructions: number }

/**
 * Regular expressions of RE2: matching takes time in proportion to the text. Without lookaround and back-references,
 * which RE2 does not have.
 */
export function compilePattern(text: string): Pattern | { wrong: string } {
  if (text.length > MAX_PATTERN_LENGTH) return { wrong: `at most ${MAX_PATTERN_LENGTH} characters` }
  // a pattern of 30 characters may stand for a million: found out before RE2 compiles it
  if (sizeOf(text) > MAX_PROGRAM)
    return { wrong: `is too large when its repetitions are written out: at most ${MAX_PROGRAM} steps` }
  try {
    const compiled = RE2JS.compile(text)
    const instructions = compiled.programSize()
    if (instructions > MAX_PROGRAM) return { wrong: `takes ${instructions} steps: at most ${MAX_PROGRAM}` }
    limitMemory(compiled)
    return { test: (value) => compiled.test(value), instructions }
  } catch (error) {
    return {
      wrong: error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'is invalid',
    }
  }
}

/**
 * For the states that RE2 remembers. Its own limit is 8 MB for each pattern; filling it takes ten times as long as the
 * engine that it falls back to.
 */
const MAX_MEMORY_BYTES = 256 * 1024

/** re2js has no option for this. */
function limitMemory({ re2Input: { dfa } }: RE2JS): void {
  dfa.maxMem = MAX_MEMORY_BYTES
  dfa.stateBudget = MAX_MEMORY_BYTES
  dfa.memBudget = MAX_MEMORY_BYTES
}

/** What a pattern consists of, as RE2 reads it: a misread bracket would hide a repetition. Flags take nothing. */
const TOKEN = new RegExp(
  [
    String.raw`(?<quoted>\\Q[\s\S]*?(?:\\E|$))`,
    String.raw`\\[pPx]\{[^}]*\}`, // before counts
    String.raw`\\[\s\S]`,
    String.raw`\[\^?\]?(?:\[:\^?\w*:\]|\\[\s\S]|[^\]\\])*\]`,
    String.raw`(?<flags>\(\?[\w-]*\))`,
    String.raw`(?<begin>\((?:\?[\w-]*:|\?P?<\w*>)?)`,
    String.raw`(?<end>\))`,
    String.raw`\{(?<least>\d+)(?:,(?<most>\d*))?\}`,
    String.raw`[\s\S]`,
  ].join('|'),
  'gu',
)

/** About how many instructions a pattern takes: it may be half of them. */
function sizeOf(pattern: string): number {
  const groups: number[] = []
  let size = 0
  let last = 0
  for (const [token, quoted, flags, begin, end, least, most] of pattern.matchAll(TOKEN)) {
    if (flags !== undefined) continue
    if (begin !== undefined) {
      groups.push(size + 2)
      size = 0
    } else if (end !== undefined) {
      last = size + 2
      size += groups.pop() ?? 0
    } else if (least !== undefined) {
      const times = Math.max(Number(least), Number(most || 0), 1)
      size += last * (times - 1)
      last *= times
    } else {
      last = quoted === undefined ? 1 : token.length
      size += last
    }
  }
  return groups.reduce((sum, group) => sum + group, size)
}
