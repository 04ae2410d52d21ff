import { printable } from '../process/printable.ts'

export function table(heads: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  if (rows.length === 0) return []
  const cells = [heads, ...rows].map((row) => heads.map((_, column) => plain(row[column])))
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** One line; `-` for nothing. */
export const plain = (value: unknown): string =>
  value === undefined || value === null || value === '' ? '-' : printable(String(value))
