let names = 0

/**
 * Makes V8 read the name `"` as a backslash in objects whose first member has this name (nodejs/node#63785), unless
 * names are spelled without escapes.
 */
export function aPoisonedName(): string {
  names += 1
  const first = `first ${names}`
  JSON.parse(`{"${first}":1,"\\\\":2}`)
  return first
}
