import { CALL_TYPES } from './accept.ts'
import type { RouteType } from './judge.ts'

/** Some libraries send to the first letter alone. */
const calls = CALL_TYPES.flatMap(
  (type) =>
    [
      [`/v1/${type}`, type],
      [`/v1/${type.charAt(0)}`, type],
    ] as const,
)

const batches = ['/v1/batch', '/v1/import', '/v1/b'].map((path) => [path, 'batch'] as const)

/** Paths that take POST, each also with a slash at its end (a Java default), and what comes there. */
export const routes: ReadonlyMap<string, RouteType> = new Map<string, RouteType>([...calls, ...batches])

/** The paths that take GET. */
export const probes: readonly string[] = ['/livez', '/readyz']

/** @returns the methods that a path takes, or undefined when nothing is there. */
export function allowed(path: string): string | undefined {
  const plain = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  if (routes.has(plain)) return 'POST, OPTIONS'
  return probes.includes(plain) ? 'GET, HEAD, OPTIONS' : undefined
}
