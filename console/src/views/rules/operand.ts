/** A value that a condition compares with. */
export type Operand = string | number | boolean | null

/**
 * The value that a person types: 10, true and null are what they are in JSON, and anything else is text. Quotes make
 * text of a number.
 */
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

/** The text of one line that `toOperand` turns into this value. An empty field has no value, so empty text is `""`. */
export const toText = (operand: Operand): string =>
  typeof operand === 'string' && operand !== '' && toOperand(operand) === operand && isOneLine(operand)
    ? operand
    : JSON.stringify(operand)

export const isOneLine = (text: string): boolean => !/[\n\r]/.test(text)

/** One value per line; empty lines do not count. */
export const toOperands = (lines: string): Operand[] =>
  lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(toOperand)

export const toLines = (operands: readonly Operand[]): string => operands.map(toText).join('\n')

/** How a condition compares with a value that is not text, because types are strict. */
export function typeHint(text: string): string | undefined {
  const operand = toOperand(text)
  if (typeof operand === 'string') return undefined
  const type = operand === null ? 'null' : `a ${typeof operand}`
  return `Compares as ${type}. For the text, write "${text.trim()}" with quotes.`
}
