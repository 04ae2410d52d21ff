/** One line. Escapes control characters: untrusted text must not control a terminal. */
export const printable = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => ESCAPES[character] ?? escaped(character),
  )

/**
 * Escapes what JSON leaves: at U+2028 some readers end a line, and terminals obey C1 characters. Keeps lines and styles.
 */
export const printableJson = (text: string): string =>
  text.replace(/[\u007f-\u009f\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, escaped)

const ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
