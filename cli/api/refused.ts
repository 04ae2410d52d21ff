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
  return inShape(answer, what, shape)
}

/**
 * Asks for something that is to be done once, under an id that is in what is sent. @throws CliFault as `asked`; where it may have been
 * done all the same it says under which id to repeat it.
 */
export async function askedUnder<T>(id: string, ask: Ask, what: Asked, shape: z.ZodType<T>): Promise<T> {
  let isRefused = false
  const noting: Ask = async (asked) => {
    const answer = await ask(asked)
    isRefused = answer.status >= 400 && answer.status < 500
    return answer
  }
  try {
    return await asked(noting, what, shape)
  } catch (error) {
    if (isRefused || !(error instanceof CliFault)) throw error
    const message = `${error.message}\nIt may have been accepted all the same. Repeated with --id ${id} it is done once.`
    throw new CliFault(error.code, message, { cause: error })
  }
}

/** What an answer says. @throws CliFault unknown_answer */
export function inShape<T>({ body }: Answer, { path }: Asked, shape: z.ZodType<T>): T {
  const read = shape.safeParse(body)
  if (read.success) return read.data
  const message = `control answers ${path} in a form that this version does not know:\n${z.prettifyError(read.error)}`
  throw new CliFault('unknown_answer', message)
}
