import { CALL_TYPES } from '../../settings/settings.ts'
import type { RouteType } from '../call/authenticate.ts'

export type Route = { path: string } & (
  | { serves: 'calls'; type: RouteType }
  | { serves: 'metrics' | 'pixel' | 'probe' | 'description' }
)

/** Some libraries use only the first letter. */
const single = CALL_TYPES.flatMap((type) =>
  [type, type.charAt(0)].map((name) => ({ path: `/v1/${name}`, serves: 'calls', type }) as const),
)

const many = ['batch', 'import', 'b'].map(
  (name) => ({ path: `/v1/${name}`, serves: 'calls', type: 'batch' }) as const,
)

export const PIXEL_PATH = '/v1/pixel/{type}'

/** Each route also has a trailing slash (a default of Java clients). `{type}` stands for one segment. */
export const ROUTES: readonly Route[] = [
  ...single,
  ...many,
  { path: '/v1/m', serves: 'metrics' },
  { path: PIXEL_PATH, serves: 'pixel' },
  { path: '/openapi.json', serves: 'description' },
  { path: '/livez', serves: 'probe' },
  { path: '/readyz', serves: 'probe' },
]

export const methodOf = ({ serves }: Route): 'GET' | 'POST' =>
  serves === 'calls' || serves === 'metrics' ? 'POST' : 'GET'

const PIXEL = /^\/v1\/pixel\/[^/]+\/?$/

const isPixel = (path: string): boolean => PIXEL.test(path)

export function allowed(path: string): string | undefined {
  const route = routeAt(path)
  if (!route) return undefined
  return methodOf(route) === 'POST' ? 'POST, OPTIONS' : 'GET, HEAD, OPTIONS'
}

/** @param path decoded. */
export function routeAt(path: string): Route | undefined {
  const plain = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  return ROUTES.find((it) => (it.serves === 'pixel' ? isPixel(path) : it.path === plain))
}
