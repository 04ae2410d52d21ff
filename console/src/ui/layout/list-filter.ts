export const MIN_FOR_FILTER = 20
export const PAGE_SIZE = 100

/** Items with every word, in any case and order. */
export function filterByWords<T>(all: readonly T[], text: string, textOf: (item: T) => string): readonly T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return all
  return all.filter((item) => {
    const itemText = textOf(item).toLowerCase()
    return words.every((word) => itemText.includes(word))
  })
}
