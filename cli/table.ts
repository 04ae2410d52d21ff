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

/** One line. Escapes control characters: untrusted text must not control a terminal. */
export const printable = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => ESCAPES[character] ?? escaped(character),
  )

/** The same for what JSON does not escape. Keeps lines and styles. */
export const printableJson = (text: string): string =>
  text.replace(/[\u007f-\u009f\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, escaped)

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
