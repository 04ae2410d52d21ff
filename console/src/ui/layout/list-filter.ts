/** Up to so many are seen at a glance. */
export const FEW = 20
/** So many are shown at once. */
export const STEP = 100

/** Those whose text has all the words, in whatever case. */
export function matching<T>(all: readonly T[], text: string, textOf: (item: T) => string): readonly T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return all
  return all.filter((item) => {
    const its = textOf(item).toLowerCase()
    return words.every((word) => its.includes(word))
  })
}
