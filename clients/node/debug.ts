/** Prints one line, without content of calls. */
export type Debug = (what: string, facts: Readonly<Record<string, string | number | boolean>>) => void

/** @param names of DEBUG: separated by commas or spaces; `*` for all */
export function isDebug(names: string | undefined): boolean {
  return (names ?? '').split(/[\s,]+/).some((name) => name === 'analytics' || name === '*')
}

/** Uses stderr: stdout belongs to the program. */
export const debug: Debug = (what, facts) => {
  const pairs = Object.entries(facts).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  process.stderr.write(`${new Date().toISOString()} analytics ${[what, ...pairs].join(' ')}\n`)
}

/** The query may be secret. */
export function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

export function masked(writeKey: string): string {
  return writeKey.length < 8 ? '***' : `${writeKey.slice(0, 4)}***`
}
