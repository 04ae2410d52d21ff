/**
 * Reads JSON whose numbers are read again as they were written. Others would reach receivers as another value: 12345678901234567890
 * as ...567000, 1e999 as null. They cannot be passed on digit by digit either: receivers recompute signatures over
 * `JSON.stringify(JSON.parse(body))`.
 * @returns `inexact`: the first number that is not. @throws SyntaxError
 */
export function parseExactly(text: string): { value: unknown } | { inexact: string } {
  let inexact: string | undefined
  const value = JSON.parse(text, (_, member: unknown, context?: { source?: string }) => {
    const source = context?.source
    if (typeof member === 'number' && source !== undefined && !isExact(source, member)) inexact ??= source
    return member
  })
  return inexact === undefined ? { value } : { inexact }
}

const isExact = (source: string, value: number) =>
  Number.isFinite(value) && (source === String(value) || canonical(source) === canonical(String(value)))

/** The same for all ways to write a decimal: its digits without zeros at the ends, and where its point is. */
function canonical(number: string): string {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = `${whole}${fraction}`.replace(/^-?0*/, '')
  const [significant] = /^\d*[1-9]/.exec(digits) ?? []
  if (significant === undefined) return '0'
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}
