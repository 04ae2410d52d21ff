import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { ApiRequest, ResponseSpec } from '../../api/operation.ts'
import { type ApiResponse, problem } from '../../api/response.ts'

export const STREAM: ResponseSpec = {
  description: 'An endless stream.',
  type: 'text/event-stream',
  body: z.string(),
}

/** `too_many`: no more watchers are allowed. */
export type Watchable = { watchers(): number; watch(): Readable | 'too_many' }

/** Of 20 watchers, so many may use the view token: administrators always find a place. */
const MAX_VIEWERS = 15

/** Server-sent events; HEAD gets only the headers. */
export function streamed(
  { method, who }: Pick<ApiRequest, 'method' | 'who'>,
  { watchers, watch }: Watchable,
): ApiResponse {
  if (method === 'HEAD') return { status: 200, headers }
  const stream = who === 'view' && watchers() >= MAX_VIEWERS ? 'too_many' : watch()
  return stream === 'too_many' ? tooMany : { status: 200, headers, body: stream }
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  // a shutdown need not wait for further requests on the connection
  connection: 'close',
  // keeps nginx from buffering
  'x-accel-buffering': 'no',
}

const tooMany = problem(
  { code: 'too_many_watchers', message: 'Too many clients are watching: close a page that does' },
  { 'retry-after': '10' },
)
