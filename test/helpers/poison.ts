let names = 0

/**
 * In objects whose first member has this name, V8 now reads the name `"` as a backslash (nodejs/node#63785), unless it
 * is parsed with `parseJson`.
 */
export function aPoisonedName(): string {
  names += 1
  const first = `first ${names}`
  JSON.parse(`{"${first}":1,"\\\\":2}`)
  return first
}
