import { z } from 'zod'
import { CliFault } from '../fault.ts'
import type { Answer, Ask, Asked } from './ask.ts'

/** `pointer`: RFC 6901, into what was sent. */
export type Fault = { pointer: string; code: string; message: string }

const problemShape = z.looseObject({
  code: z.string(),
  message: z.string(),
  errors: z.array(z.object({ pointer: z.string(), code: z.string(), message: z.string() })).default([]),
})

export type Problem = { status: number; code: string; message: string; errors: readonly Fault[] }

/** What is wrong, where an answer is a refusal. */
export function problemOf({ status, body }: Answer): Problem {
  const said = problemShape.safeParse(body)
  if (said.success) return { status, ...said.data }
  return { status, code: String(status), message: `an answer of status ${status}`, errors: [] }
}

/** A refusal in the API's words, with each of its faults. */
export function refused(answer: Answer): CliFault {
  const { status, code, message, errors } = problemOf(answer)
  const faults = errors.map(
    (fault) => `\n  ${fault.pointer || 'all of it'}: ${fault.message} (${fault.code})`,
  )
  return new CliFault('refused', `Refused: ${message} (${status} ${code})${faults.join('')}`)
}

/** Asks, and takes nothing but what has this shape. @throws CliFault refused, unknown_answer, unreachable */
export async function asked<T>(ask: Ask, what: Asked, shape: z.ZodType<T>): Promise<T> {
  const answer = await ask(what)
  if (answer.status >= 300) throw refused(answer)
  const read = shape.safeParse(answer.body)
  if (read.success) return read.data
  const message = `control answers ${what.path} in a form that this version does not know:\n${z.prettifyError(read.error)}`
  throw new CliFault('unknown_answer', message)
}
