import type { Readable } from 'node:stream'
import got from 'got'
import type { Target } from '../target.ts'
import { type ApiResponse, type Query, refused, unreachable } from './client.ts'

export type Transfer = {
  method: 'GET' | 'PUT' | 'POST'
  path: string
  query?: Query
  body?: string | Buffer | Readable
  type?: string
  /** Default: none, because a sync may take long. */
  limitMs?: number
}

/**
 * Sends or fetches a file of any size. `text`: the raw body. `body`: parsed JSON; undefined if it is not
 * JSON.
 * @throws CliError refused, unreachable
 */
export async function transfer(
  { control, token }: Pick<Target, 'control' | 'token'>,
  { method, path, query = {}, body, type, limitMs }: Transfer,
): Promise<ApiResponse & { text: string }> {
  const response = await got(`${control}/api/${path}`, {
    method,
    searchParams: query,
    headers: { authorization: `Bearer ${token}`, ...(type && { 'content-type': type }) },
    ...(body !== undefined && { body }),
    throwHttpErrors: false,
    // the token must not go to another address
    followRedirect: false,
    ...(limitMs && { timeout: { request: limitMs } }),
    retry: { limit: 0 },
  }).catch((cause: unknown) => {
    throw unreachable(control, cause)
  })
  const { statusCode: status, body: text } = response
  const answer = { status, body: parsed(text), text }
  if (status >= 300) throw refused(answer)
  return answer
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
