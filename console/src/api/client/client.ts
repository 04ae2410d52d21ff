import createClient from 'openapi-fetch'
import { followServer } from './clock.ts'
import { type ApiError, toApiError, toChangeError, unanswered, unreachable } from './errors.ts'
import type { components, paths } from './schema.ts'

export type Schemas = components['schemas']

/** Other sites cannot send this header, so control accepts the request. */
export const CSRF_HEADERS = { 'X-Requested-With': 'sluice-console' }

export const api = createClient<paths>({ baseUrl: '/', headers: CSRF_HEADERS })
api.use({
  onResponse: ({ response }) => followServer(response.headers.get('date'), Date.now()),
})

type ApiResponse<T> = { data?: T; error?: unknown; response: Response }

/** For requests that change nothing. @throws ApiError */
export const resultOf = <T>(request: Promise<ApiResponse<T>>): Promise<T> =>
  unwrapped(request, unreachable, toApiError)

/** For changes: without an answer, the change may have been made. @throws ApiError */
export const resultOfChange = <T>(request: Promise<ApiResponse<T>>): Promise<T> =>
  unwrapped(request, unanswered, toChangeError)

async function unwrapped<T>(
  request: Promise<ApiResponse<T>>,
  noAnswer: () => ApiError,
  toError: typeof toApiError,
): Promise<T> {
  const { data, error, response } = await request.catch(() => {
    throw noAnswer()
  })
  if (response.ok) return data as T // the schema's body for every success
  throw toError(error, response.status)
}

type Page<T> = { items: T[]; next: string | null }
type PageQuery = { limit: number; cursor?: string }

export async function fetchAll<T>(fetchPage: (query: PageQuery) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = []
  for (let query: PageQuery | undefined = { limit: 1_000 }; query; ) {
    const { items, next }: Page<T> = await fetchPage(query)
    all.push(...items)
    query = next === null ? undefined : { limit: 1_000, cursor: next }
  }
  return all
}
