const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Does not parse the JSON: 500 KB of brackets would take 14 ms. The result is meaningless if `bytes` is not JSON. */
export function isDeeper(bytes: Uint8Array, levels: number): boolean {
  let level = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfString(bytes, at + 1)
    // [ or {
    else if (byte === 0x5b || byte === 0x7b) {
      level += 1
      if (level > levels) return true
    } else if (byte === 0x5d || byte === 0x7d) level -= 1
  }
  return false
}

/** @returns the position of the closing quote, or the end. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}
