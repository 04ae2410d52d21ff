/** Text of others. Escapes bidirectional controls, as the command line does: they can show text in another order. */
export const visible = (text: string): string =>
  text.replace(/\p{Bidi_Control}/gu, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
