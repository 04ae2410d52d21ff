import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'

export const MAX_PATTERN_LENGTH = 1_024
/** Matching takes about 13 ns at most per instruction and character. */
const MAX_PROGRAM = 1_000

/** Bounds of ranges in character classes. `\pL` alone has 1,300. */
const MAX_CLASS_BOUNDS = 20_000

export type Pattern = { test: (text: string) => boolean; instructions: number }

/**
 * RE2 matches in linear time, without lookarounds and backreferences. Equal expressions share a program, which may be
 * dropped to save memory and compiled again.
 */
export function compilePattern(text: string): Pattern | { wrong: string } {
  if (text.length > MAX_PATTERN_LENGTH) return { wrong: `at most ${MAX_PATTERN_LENGTH} characters` }
  // before RE2 compiles them: 30 characters may expand to a million instructions
  if (!kept.has(text) && sizeOf(text) > MAX_PROGRAM)
    return { wrong: `is too large when its repetitions are written out: at most ${MAX_PROGRAM} steps` }
  try {
    const { compiled, classBounds } = programOf(text)
    const instructions = compiled.programSize()
    if (instructions > MAX_PROGRAM) return { wrong: `takes ${instructions} steps: at most ${MAX_PROGRAM}` }
    if (classBounds > MAX_CLASS_BOUNDS) return { wrong: TOO_MANY_CLASSES }
    return { test: (value) => testWith(text, value), instructions }
  } catch (error) {
    return {
      wrong: error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'is invalid',
    }
  }
}

const TOO_MANY_CLASSES = 'has too many classes of characters such as \\pL: repeat one instead, as in \\pL{3}'

/** `bytes`: estimated memory, including cached states. */
type Program = { compiled: RE2JS; classBounds: number; bytes: number }

/** For all patterns of the process. A thousand destinations may have 20,000. */
export const MAX_KEPT_BYTES = 128 * 1024 * 1024

const kept = new LRUCache<string, Program>({
  maxSize: MAX_KEPT_BYTES,
  sizeCalculation: ({ bytes }) => bytes,
})

let compilations = 0

export const patternCompilations = (): number => compilations

function programOf(text: string): Program {
  const before = kept.get(text)
  if (before) return before
  const compiled = RE2JS.compile(text)
  compilations += 1
  limitStates(compiled)
  const classBounds = classBoundsOf(compiled)
  const bytes = BASE_BYTES + INSTRUCTION_BYTES * compiled.programSize() + BOUND_BYTES * classBounds
  const program = { compiled, classBounds, bytes }
  kept.set(text, program)
  return program
}

function testWith(text: string, value: string): boolean {
  const program = programOf(text)
  const { compiled, bytes } = program
  const before = statesBytes(compiled)
  const found = compiled.test(value)
  const grown = statesBytes(compiled) - before
  if (grown !== 0) kept.set(text, { ...program, bytes: bytes + grown })
  return found
}

/** Measured, rounded up. */
const BASE_BYTES = 10_000
const INSTRUCTION_BYTES = 250
const BOUND_BYTES = 16

/** Repeated classes share their bounds. */
function classBoundsOf({ re2Input: { prog } }: RE2JS): number {
  const classes = new Set<ArrayLike<number>>()
  for (let index = 0; index < prog.numInst(); index++) classes.add(prog.getInst(index).runes)
  return [...classes].reduce((sum, { length }) => sum + length, 0)
}

/** RE2's cache of states. Filling its default of 8 MB takes ten times as long as RE2's fallback. */
const MAX_STATES_BYTES = 256 * 1024

/** re2js has no option for this. */
function limitStates({ re2Input: { dfa } }: RE2JS): void {
  dfa.maxMem = MAX_STATES_BYTES
  dfa.stateBudget = MAX_STATES_BYTES
  dfa.memBudget = MAX_STATES_BYTES
}

const statesBytes = ({ re2Input: { dfa } }: RE2JS): number => MAX_STATES_BYTES - dfa.memBudget

/** Splits a pattern as RE2 does: a misread bracket would hide a repetition. */
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

/** An estimate: the pattern may take twice as many instructions. */
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
