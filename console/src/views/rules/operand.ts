export type Operand = string | number | boolean | null

/** Reads 10, true and null as JSON, and anything else as a string. Quotes make a number a string. */
export function toOperand(text: string): Operand {
  const trimmed = text.trim()
  try {
    const value: unknown = JSON.parse(trimmed)
    return isOperand(value) ? value : trimmed
  } catch {
    return trimmed
  }
}

export const isOperand = (value: unknown): value is Operand =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value)

/** A line that `toOperand` turns into this value. An empty field means no value, so the empty string is `""`. */
export const toText = (operand: Operand): string =>
  typeof operand === 'string' && operand !== '' && toOperand(operand) === operand && isOneLine(operand)
    ? operand
    : JSON.stringify(operand)

export const isOneLine = (text: string): boolean => !/[\n\r]/.test(text)

/** Ignores empty lines. */
export const toOperands = (lines: string): Operand[] =>
  lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(toOperand)

export const toLines = (operands: readonly Operand[]): string => operands.map(toText).join('\n')

/** For the first value that is not a string, because types are strict. @param text one value per line */
export function typeHint(text: string): string | undefined {
  const lines = text.split('\n').map((line) => line.trim())
  const line = lines.find((line) => typeof toOperand(line) !== 'string')
  if (line === undefined) return undefined
  const operand = toOperand(line)
  const type = operand === null ? 'null' : `a ${typeof operand}`
  const what = lines.length === 1 ? '' : ` ${line}`
  return `Compares${what} as ${type}. For a string, write "${line}" with quotes.`
}
