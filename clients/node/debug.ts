/** Writes one line: what happened, and facts about it; never what calls hold. */
export type Debug = (what: string, facts: Readonly<Record<string, string | number | boolean>>) => void

/** @param names the environment variable DEBUG: names with commas or spaces between them, `*` for all. */
export function isDebug(names: string | undefined): boolean {
  return (names ?? '').split(/[\s,]+/).some((name) => name === 'analytics' || name === '*')
}

/** To stderr, so that stdout stays the program's own. */
export const debug: Debug = (what, facts) => {
  const pairs = Object.entries(facts).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  process.stderr.write(`${new Date().toISOString()} analytics ${[what, ...pairs].join(' ')}\n`)
}

/** A URL as it may be shown: its query may hold a secret. */
export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

/** Enough of a write key to tell it from others. */
export function masked(writeKey: string): string {
  return writeKey.length < 8 ? '***' : `${writeKey.slice(0, 4)}***`
}
