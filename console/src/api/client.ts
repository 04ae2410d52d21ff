import createClient from 'openapi-fetch'
import { type Problem, Refused, unreachable } from './problem.ts'
import type { components, paths } from './schema.ts'

export type Shapes = components['schemas']

/** The control API. The session is a cookie that no script reads; the header says that no other site asks. */
export const api = createClient<paths>({ baseUrl: '/', headers: { 'X-Requested-With': 'sluice-console' } })

type Answered<T> = { data?: T; error?: unknown; response: Response }

/** @throws Refused */
export async function answered<T>(asking: Promise<Answered<T>>): Promise<T> {
  const { data, error, response } = await asking.catch(() => {
    throw unreachable()
  })
  if (response.ok) return data as T // of a status that the description has with this body
  throw refusal(error, response.status)
}

export function refusal(body: unknown, status: number): Refused {
  if (isProblem(body)) return new Refused(body, status)
  const message = `Something between here and Sluice answered ${status}: try again in a moment.`
  return new Refused({ code: 'unknown', message, errors: [] }, status)
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'code' in body && 'message' in body && 'errors' in body
