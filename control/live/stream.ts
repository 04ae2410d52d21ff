import type { Readable } from 'node:stream'
import { z } from 'zod'
import { type Answer, problem } from '../http/answer.ts'
import type { Asked, Shown } from '../http/operation.ts'

const tooMany = problem(
  { code: 'too_many_watchers', message: 'As many as may watch do already: close a page that does' },
  { 'retry-after': '10' },
)

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  // one connection, one stream: at the end of the process nobody waits for what else might come on it
  connection: 'close',
  // nginx would gather it
  'x-accel-buffering': 'no',
}

/** As the description has it. */
export const STREAM: Shown = {
  description: 'A stream, without end.',
  type: 'text/event-stream',
  body: z.string(),
}

/** Who watches one kind of thing; with `too_many` nobody else may. */
export type Watched = { watchers(): number; watch(): Readable | 'too_many' }

/** Of the 20 that may watch one kind of thing, so many with the view token: whoever holds it, administrators find a place. */
const MOST_VIEWERS = 15

/** A stream of server-sent events; who asks for the headers alone gets them without one. */
export function streamed(
  { method, who }: Pick<Asked, 'method' | 'who'>,
  { watchers, watch }: Watched,
): Answer {
  if (method === 'HEAD') return { status: 200, headers }
  const stream = who === 'view' && watchers() >= MOST_VIEWERS ? 'too_many' : watch()
  return stream === 'too_many' ? tooMany : { status: 200, headers, body: stream }
}
