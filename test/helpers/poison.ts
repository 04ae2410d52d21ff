let names = 0

/**
 * In objects whose first member has this name, V8 now reads names that are as long as `as`, and whose spelling starts
 * with it, as `as` (nodejs/node#63785), unless they are parsed with `parseJson`. By default: `"` as a backslash.
 */
export function aPoisonedName(as = '\\'): string {
  names += 1
  const first = `first ${names}`
  JSON.parse(`{"${first}":1,${JSON.stringify(as)}:2}`)
  return first
}
