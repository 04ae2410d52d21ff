/**
 * Copies of parsed objects that take no more memory than the originals. If a name is an index, such as "1023",
 * JSON.parse stores only that member. But an object that gets the name later reserves room for all lower indexes: 12 KB,
 * or 40 KB with 2573 and 3322. A call of 32 KB can hold two thousand such objects.
 */

/** Objects list these names first, in ascending order. */
export const isIndex = (name: string): boolean =>
  /^(?:0|[1-9]\d{0,9})$/.test(name) && Number(name) < HIGHEST_INDEX + 1

const HIGHEST_INDEX = 2 ** 32 - 2

/** Like `Object.fromEntries`. */
export function objectOf<V>(entries: readonly (readonly [string, V])[]): Record<string, V> {
  if (!entries.some(([name]) => isIndex(name))) return Object.fromEntries(entries)
  const made = sparse<V>()
  for (const [name, value] of entries) define(made, name, value)
  return made
}

/** Like `{ ...object, [name]: value }`. */
export function withMember<V>(
  object: Readonly<Record<string, V>>,
  name: string,
  value: NoInfer<V>,
): Record<string, V> {
  if (!hasIndex(object)) return { ...object, [name]: value }
  return define(objectOf(Object.entries(object)), name, value)
}

/** Like `const { [name]: _, ...rest } = object`. */
export function withoutMember<V>(object: Readonly<Record<string, V>>, name: string): Record<string, V> {
  if (hasIndex(object)) return objectOf(Object.entries(object).filter(([each]) => each !== name))
  const { [name]: _, ...rest } = object
  return rest
}

function hasIndex(object: object): boolean {
  for (const first in object) return isIndex(first)
  return false
}

/** An empty object that stores indexes as JSON.parse does: it keeps doing so without its only member. */
function sparse<V>(): Record<string, V> {
  const made = JSON.parse(`{"${HIGHEST_INDEX}":0}`)
  delete made[HIGHEST_INDEX]
  return made
}

/** Also for `__proto__`, which an assignment would not add. */
const define = <V>(object: Record<string, V>, name: string, value: V) =>
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
