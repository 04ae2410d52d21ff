import { type AddHelpTextContext, type AddHelpTextPosition, Command, type Help } from 'commander'
import type { Output } from './context.ts'

/** For a pipe, or a terminal of unknown width. */
const DEFAULT_WIDTH = 80
const MAX_WIDTH = 100
/** With less room, a description goes below its option. */
const MIN_COLUMN = 30
const INDENT = 6

export const widthOf = ({ columns }: Pick<Output, 'columns'>): number =>
  Math.min(columns ?? DEFAULT_WIDTH, MAX_WIDTH)

export class FittedCommand extends Command {
  override createCommand(name?: string): FittedCommand {
    return new FittedCommand(name)
  }

  override addHelpText(
    position: AddHelpTextPosition,
    text: string | ((context: AddHelpTextContext) => string),
  ): this {
    return super.addHelpText(position, (context) => {
      const { getErrHelpWidth, getOutHelpWidth } = context.command.configureOutput()
      const width = context.error ? getErrHelpWidth?.() : getOutHelpWidth?.()
      return fitted(typeof text === 'string' ? text : text(context), width ?? DEFAULT_WIDTH)
    })
  }
}

/** For `configureHelp`: commander does not wrap descriptions in narrow columns. */
export const FITTED_HELP = {
  formatItem(this: Help, term: string, termWidth: number, description: string): string {
    const width = this.helpWidth ?? DEFAULT_WIDTH
    const start = termWidth + 4
    if (width - start >= MIN_COLUMN)
      return hanging(description, { start: `  ${term.padEnd(termWidth)}  `, indent: start, width }).trimEnd()
    const below = { start: ' '.repeat(INDENT), indent: INDENT, width }
    return description ? `  ${term}\n${hanging(description, below)}` : `  ${term}`
  },
}

/**
 * Wraps paragraphs to a width and keeps indented lines apart. Splits a long command (`  $ ...`) with
 * backslashes, so that it can be copied. Continues any other long line below its first word, or its second
 * column (`  0  done`).
 */
function fitted(text: string, width: number): string {
  return text
    .replace(/(?<=\S)\n(?=\S)/g, (end, offset: number) => (isIndented(text, offset) ? end : ' '))
    .split('\n')
    .map((line) => fitLine(line, width))
    .join('\n')
}

const isIndented = (text: string, offset: number) =>
  text.slice(text.lastIndexOf('\n', offset - 1) + 1).startsWith(' ')

function fitLine(line: string, width: number): string {
  if (line.length <= width) return line
  if (line.startsWith('  $ ')) return fitCommand(line, width)
  const [start = ''] = /^ +(?:\S+ {2,})?/.exec(line) ?? []
  return hanging(line.slice(start.length), { start, indent: start.length, width })
}

function fitCommand(line: string, width: number): string {
  const [, command = line, comment] = /^(.*?\S)(?: +(# .*))?$/.exec(line) ?? []
  // never splits an option from its value
  const [first = '', ...more] = command.split(/ (?=--|\| )/)
  const lines = [first]
  for (const part of more) {
    const longer = `${lines.at(-1)} ${part}`
    if (longer.length <= width - 2) lines[lines.length - 1] = longer
    else lines.push(`${' '.repeat(INDENT)}${part}`)
  }
  const whole = lines.join(' \\\n')
  return comment ? `${whole}\n${' '.repeat(INDENT)}${comment}` : whole
}

function hanging(
  text: string,
  { start, indent, width }: { start: string; indent: number; width: number },
): string {
  const lines: string[] = []
  let line = start
  let isEmpty = true
  for (const word of text.split(' ')) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line)
      line = ' '.repeat(indent) + word
    } else line += isEmpty ? word : ` ${word}`
    isEmpty = false
  }
  return [...lines, line].join('\n')
}
