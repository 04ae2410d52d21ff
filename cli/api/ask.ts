import got, { RequestError } from 'got'
import { z } from 'zod'
import type { Target } from '../target.ts'
import { CliFault } from '../world.ts'

export type Query = Readonly<Record<string, string | number | undefined>>

export type Asked = {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/api/`; its parts percent-encoded. */
  path: string
  query?: Query
  json?: object
  /** The version of the record that was read. */
  ifMatch?: number
}

/** `body`: JSON; undefined when there is none. */
export type Answer = { status: number; body: unknown }

/** Asks control. Refusals are answers. @throws CliFault unreachable, unknown_answer */
export type Ask = (asked: Asked) => Promise<Answer>

/** Longer than a test send takes, and than what waits for Kafka. */
const LIMIT_MS = 90_000

export function askOf({ control, token }: Pick<Target, 'control' | 'token'>): Ask {
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
      // the token is for this address alone
      followRedirect: false,
      timeout: { request: LIMIT_MS },
      // a write may have been made; and refused connections it does not survive (sindresorhus/got#2469)
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
    return JSON.parse(text)
  } catch (cause) {
    const message = `${control} answers ${status} and no JSON: is this the address of control?`
    throw new CliFault('unknown_answer', message, { cause })
  }
}

export function unreachable(url: string, cause: unknown): unknown {
  if (!(cause instanceof RequestError)) return cause
  return new CliFault('unreachable', `${url} does not answer: ${cause.message || cause.code}`, { cause })
}

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
