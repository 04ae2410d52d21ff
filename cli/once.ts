const MOST = 10_000

/** Whether something is new, by its key; of the last 10,000 keys and a few more each is known. */
export function once<T>(keyOf: (value: T) => string): (value: T) => boolean {
  let [younger, older] = [new Set<string>(), new Set<string>()]
  return (value) => {
    const key = keyOf(value)
    if (younger.has(key) || older.has(key)) return false
    if (younger.size >= MOST) [younger, older] = [new Set(), younger]
    younger.add(key)
    return true
  }
}
