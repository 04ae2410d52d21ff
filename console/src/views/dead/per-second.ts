/** As the API takes it: from 1 to 10,000. @returns undefined: it is no such number. */
export function perSecondOf(typed: string): number | undefined {
  const value = Number(typed)
  return typed.trim() !== '' && value >= 1 && value <= 10_000 ? value : undefined
}
