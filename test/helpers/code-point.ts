import fc from 'fast-check'

/** Any code point, halves of surrogate pairs too. For `unit` of `fc.string`, whose own `binary` takes a second to make. */
export const codePoint = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code))
