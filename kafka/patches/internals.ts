import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** A module of kafkajs 2.2.4 (pinned), by its path under `src/`. The patch's test checks what `T` states. */
export const internal = <T>(path: string): T => require(`kafkajs/src/${path}`)

export const prototypeOf = <T>(path: string): T => internal<{ prototype: T }>(path).prototype

/** Call it before kafkajs loads a module that imports this one. @returns the original. */
export function replaceInternal<T>(path: string, replacement: (original: T) => T): T {
  const original = internal<T>(path)
  const loaded = require.cache[require.resolve(`kafkajs/src/${path}`)]
  if (loaded) loaded.exports = replacement(original)
  return original
}
