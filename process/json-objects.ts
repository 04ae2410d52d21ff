/**
 * Copies of parsed objects that cost no more than the originals. Two kinds of names make ordinary copies expensive, while
 * JSON.parse stores them cheaply:
 * - An index, such as "1023". V8 reserves room for all lower ones: 12 KB, or 40 KB with 2573 and 3322. A call of 32 KB
 *   can hold two thousand such objects.
 * - Many names in an unusual order. V8 makes a hidden class for each name of the copy: 500 KB of JSON took 0.3 s.
 */

/** In objects of JSON.parse, keys such as `__proto__` are plain data, also when spread or printed. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Objects list these names first, in ascending order. */
export const isIndex = (name: string): boolean =>
  /^(?:0|[1-9]\d{0,9})$/.test(name) && Number(name) < HIGHEST_INDEX + 1

const HIGHEST_INDEX = 2 ** 32 - 2

/** Up to so many members, a hash table costs more than hidden classes. */
const FEW = 8

/** Like `Object.fromEntries`. */
export function objectOf<V>(entries: readonly (readonly [string, V])[]): Record<string, V> {
  if (entries.length <= FEW && !entries.some(([name]) => isIndex(name))) return Object.fromEntries(entries)
  const made = emptyTable<V>()
  for (const [name, value] of entries) define(made, name, value)
  return made
}

/** Like `{ ...object, [name]: value }`. */
export function withMember<V>(
  object: Readonly<Record<string, V>>,
  name: string,
  value: NoInfer<V>,
): Record<string, V> {
  if (isPlain(object)) return { ...object, [name]: value }
  return define(objectOf(Object.entries(object)), name, value)
}

/** Like `const { [name]: _, ...rest } = object`. */
export function withoutMember<V>(object: Readonly<Record<string, V>>, name: string): Record<string, V> {
  if (!isPlain(object)) return objectOf(Object.entries(object).filter(([each]) => each !== name))
  const { [name]: _, ...rest } = object
  return rest
}

/** Up to so many members, V8 copies an object as cheaply as its parser made it. */
const CLONED = 50

function isPlain(object: object): boolean {
  let count = 0
  for (const name in object) {
    if (count === 0 && isIndex(name)) return false
    count += 1
    if (count > CLONED) return false
  }
  return true
}

/**
 * V8 keeps members in a hash table once one was deleted that was not the last, and indexes once there was a very high
 * one.
 */
function emptyTable<V>(): Record<string, V> {
  const made = JSON.parse(`{"${HIGHEST_INDEX}":0,"a":0,"b":0}`)
  delete made[HIGHEST_INDEX]
  delete made.a
  delete made.b
  return made
}

function define<V>(object: Record<string, V>, name: string, value: V): Record<string, V> {
  // an assignment would set the prototype
  if (name === '__proto__')
    return Object.defineProperty(object, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  object[name] = value
  return object
}
