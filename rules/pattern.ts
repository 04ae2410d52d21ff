import { RE2JS } from 're2js'

export const MAX_PATTERN_LENGTH = 1_024
/** Instructions of a compiled pattern. Matching takes at most about 13 ns per instruction and character. */
const MAX_PROGRAM = 1_000

export type Pattern = { test: (text: string) => boolean; instructions: number }

/**
 * Compiles an RE2 expression, which matches in time proportional to the length of the text. RE2 has no lookarounds and no
 * backreferences.
 */
export function compilePattern(text: string): Pattern | { wrong: string } {
  if (text.length > MAX_PATTERN_LENGTH) return { wrong: `at most ${MAX_PATTERN_LENGTH} characters` }
  // 30 characters may expand to a million instructions, so this comes before RE2 compiles them
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
 * For RE2's cache of states. Filling its default of 8 MB per pattern takes ten times as long as the engine that RE2 falls
 * back to.
 */
const MAX_MEMORY_BYTES = 256 * 1024

/** re2js has no option for this. */
function limitMemory({ re2Input: { dfa } }: RE2JS): void {
  dfa.maxMem = MAX_MEMORY_BYTES
  dfa.stateBudget = MAX_MEMORY_BYTES
  dfa.memBudget = MAX_MEMORY_BYTES
}

/** Splits a pattern into tokens as RE2 does: a misread bracket would hide a repetition. Flags add no instructions. */
const TOKEN = new RegExp(
  [
    String.raw`(?<quoted>\\Q[\s\S]*?(?:\\E|$))`,
    String.raw`\\[pPx]\{[^}]*\}`, // before repetitions, which have braces too
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

/** Estimates the instructions of a pattern. It may take twice as many. */
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
