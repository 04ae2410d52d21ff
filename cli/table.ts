import { printable } from '../process/printable.ts'

/** A longer cell does not widen its column: a name of 32 KB would pad every row to 32 KB, or more if it is escaped. */
const MAX_WIDTH = 128

export function table(heads: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  if (rows.length === 0) return []
  const cells = [heads, ...rows].map((row) => heads.map((_, column) => plain(row[column])))
  const widths = heads.map((_, column) => widthOf(cells.map((row) => row[column] ?? '')))
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

const widthOf = (texts: readonly string[]): number =>
  Math.max(0, ...texts.map(({ length }) => length).filter((length) => length <= MAX_WIDTH))

/** One line; `-` for nothing. */
export const plain = (value: unknown): string =>
  value === undefined || value === null || value === '' ? '-' : printable(String(value))
