import type { Readable } from 'node:stream'
import { z } from 'zod'
import { type Answer, problem } from '../http/answer.ts'
import type { Shown } from '../http/operation.ts'

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

/** A stream of server-sent events; who asks for the headers alone gets them without one. */
export function streamed(method: string, watch: () => Readable | 'too_many'): Answer {
  if (method === 'HEAD') return { status: 200, headers }
  const stream = watch()
  return stream === 'too_many' ? tooMany : { status: 200, headers, body: stream }
}
