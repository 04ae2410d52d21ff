import fc from 'fast-check'

/** Any code point, also half a surrogate pair. For `fc.string({ unit })`: its own `binary` takes a second to create. */
export const codePoint = fc.integer({ min: 0, max: 0x10ffff }).map(
  (code) => String.fromCodePoint(code),
  // with this, fast-check also tries its dangerous strings, such as __proto__
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined
    if (code === undefined || text !== String.fromCodePoint(code)) throw new Error('not a code point')
    return code
  },
)
