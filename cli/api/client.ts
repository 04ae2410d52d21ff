import { setTimeout as sleep } from 'node:timers/promises'
import got, { RequestError } from 'got'
import { z } from 'zod'
import { parseJson } from '../../process/parse-json.ts'
import { CliError } from '../context.ts'
import type { Target } from '../target.ts'

export type Query = Readonly<Record<string, string | number | undefined>>

export type ApiRequest = {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  query?: Query
  json?: object
  /** The version that the change is based on. */
  ifMatch?: number
}

/** `body`: parsed JSON; undefined if empty. */
export type ApiResponse = { status: number; body: unknown }

/** Resolves for every status. @throws CliError unreachable, unknown_answer */
export type Api = (request: ApiRequest) => Promise<ApiResponse>

/** Longer than a test send or a request that waits for Kafka. */
const LIMIT_MS = 90_000

export function apiOf({ control, token }: Pick<Target, 'control' | 'token'>): Api {
  return async ({ method = 'GET', path, query = {}, json, ifMatch }) => {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as const],
    )
    const response = await got(`${control}/api/${path}`, {
      method,
      searchParams: Object.fromEntries(given),
      headers: {
        authorization: `Bearer ${token}`,
        ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
      },
      ...(json && { json }),
      throwHttpErrors: false,
      // the token must not go to another address
      followRedirect: false,
      timeout: { request: LIMIT_MS },
      // a repeated write is unsafe, and got's retries crash on refused connections (sindresorhus/got#2469)
      retry: { limit: 0 },
    }).catch((cause: unknown) => {
      throw unreachable(control, cause)
    })
    return {
      status: response.statusCode,
      body: parsed(response.body, { control, status: response.statusCode }),
    }
  }
}

function parsed(text: string, { control, status }: { control: string; status: number }): unknown {
  if (text === '') return undefined
  try {
    return parseJson(text)
  } catch (cause) {
    const message = `${control} answered ${status} without JSON: is this the address of control?`
    throw new CliError('unknown_answer', message, { cause })
  }
}

export function unreachable(url: string, cause: unknown): unknown {
  if (!(cause instanceof RequestError)) return cause
  return new CliError('unreachable', `${url} does not answer: ${cause.message || cause.code}`, { cause })
}

/** `pointer`: RFC 6901, into the request body. */
export type Fault = { pointer: string; code: string; message: string }

const problemShape = z.looseObject({
  code: z.string(),
  message: z.string(),
  errors: z.array(z.object({ pointer: z.string(), code: z.string(), message: z.string() })).default([]),
})

export type Problem = { status: number; code: string; message: string; errors: readonly Fault[] }

export function problemOf({ status, body }: ApiResponse): Problem {
  const problem = problemShape.safeParse(body)
  if (problem.success) return { status, ...problem.data }
  return { status, code: String(status), message: `status ${status}`, errors: [] }
}

export function refused(answer: ApiResponse): CliError {
  if (isIngest(answer)) return new CliError('no_address', IS_INGEST)
  const { status, code, message, errors } = problemOf(answer)
  const [fault] = errors
  if (fault && errors.length === 1 && fault.message === message)
    return new CliError('refused', `Refused: ${message} (${status} ${fault.code})`)
  // without control's JSON, for example from a proxy
  if (code === String(status)) return new CliError('refused', `Refused: ${message}`)
  const faults = errors.map((fault) => `\n  ${fault.pointer || '(body)'}: ${fault.message} (${fault.code})`)
  return new CliError('refused', `Refused: ${message} (${status} ${code})${faults.join('')}`)
}

/** Ingest answers an unknown path with the paths for calls. */
const isIngest = (answer: ApiResponse) => answer.status === 404 && problemOf(answer).message.includes('/v1/')

const IS_INGEST = `This is the address of ingest, which only receives calls. Set SLUICE_URL (or --url) to the address of control,
on port 8081 by default. The address of ingest belongs in SLUICE_INGEST_URL.`

/** @throws CliError refused, unknown_answer, unreachable */
export async function request<T>(api: Api, what: ApiRequest, shape: z.ZodType<T>): Promise<T> {
  const response = await api(what)
  if (response.status >= 300) throw refused(response)
  return parseBody(response, what, shape)
}

/**
 * Sends a request whose body has an id. If it may have been accepted despite an error, the message says how
 * to repeat it safely.
 * @throws CliError as `request`
 */
export async function requestOnce<T>(
  api: Api,
  what: ApiRequest & { json: { id: string } },
  shape: z.ZodType<T>,
): Promise<T> {
  let isRefused = false
  const observed: Api = async (sent) => {
    const response = await api(sent)
    isRefused = response.status >= 400 && response.status < 500
    return response
  }
  try {
    return await request(observed, what, shape)
  } catch (error) {
    if (isRefused || !(error instanceof CliError)) throw error
    const message = `${error.message}\nThe request may have been accepted. Retry safely with --id ${what.json.id}; 409 id_taken means that it was.`
    throw new CliError(error.code, message, { cause: error })
  }
}

/** @throws CliError unknown_answer */
export function parseBody<T>({ body }: ApiResponse, { path }: ApiRequest, shape: z.ZodType<T>): T {
  const parsed = shape.safeParse(body)
  if (parsed.success) return parsed.data
  const message = `control's answer to ${path} has a form that this version does not know:\n${z.prettifyError(parsed.error)}`
  throw new CliError('unknown_answer', message)
}

export type PageQuery = {
  query: Query
  /** Of all pages, above 0. */
  limit: number
  perPage: number
  /** `next` of an earlier page. */
  cursor?: string | undefined
}

/** Yields pages until the last one, or until they have `limit` items. @throws CliError */
export async function* pagesOf<P extends { items: readonly unknown[]; next: string | null }>(
  api: Api,
  { path, query, limit, perPage, cursor }: PageQuery & { path: string },
  shape: z.ZodType<P>,
): AsyncGenerator<P, void> {
  let [next, left] = [cursor ?? null, limit]
  do {
    const pageQuery = { ...query, limit: Math.min(perPage, left), cursor: next ?? undefined }
    // a long search for a user meets the limit, and would otherwise have to start again
    const page = await request(next === null ? api : patient(api), { path, query: pageQuery }, shape)
    yield page
    next = page.next
    left -= page.items.length
  } while (next !== null && left > 0)
}

/** In seconds. Control lets a network search for 10 users a second, after the first 100. */
const WAITS = 30

const patient =
  (api: Api): Api =>
  async (sent) => {
    for (let waits = 0; ; waits++) {
      const response = await api(sent)
      if (problemOf(response).code !== 'too_many_searches' || waits === WAITS) return response
      await sleep(1_000)
    }
  }

export type PagesOptions<T, F> = PageQuery & {
  item: z.ZodType<T>
  /** Fields besides the items. The result has the first page's. */
  first: z.ZodType<F>
}

/** @throws CliError */
export async function pages<T, F extends object>(
  api: Api,
  path: string,
  { item, first, ...query }: PagesOptions<T, F>,
): Promise<{ items: T[]; first: F }> {
  const shape = z.object({ items: z.array(item), next: z.string().nullable() }).and(first)
  const all = await Array.fromAsync(pagesOf(api, { path, ...query }, shape))
  const [firstPage] = all
  if (!firstPage) throw new Error('a list has at least one page')
  return { items: all.flatMap(({ items }) => items), first: firstPage }
}
