import createClient from 'openapi-fetch'
import { type Refused, refusal, unanswered, unreachable } from './errors.ts'
import type { components, paths } from './schema.ts'

export type Shapes = components['schemas']

/** Says that no other site asks: the session is a cookie that no script reads. */
export const ASKED_HERE = { 'X-Requested-With': 'sluice-console' }

/** The control API. */
export const api = createClient<paths>({ baseUrl: '/', headers: ASKED_HERE })

type Answered<T> = { data?: T; error?: unknown; response: Response }

/** Of what changes nothing. @throws Refused */
export const answered = <T>(asking: Promise<Answered<T>>): Promise<T> => settled(asking, unreachable)

/** Of a change: without an answer nobody knows whether it was made. @throws Refused */
export const carriedOut = <T>(asking: Promise<Answered<T>>): Promise<T> => settled(asking, unanswered)

async function settled<T>(asking: Promise<Answered<T>>, noAnswer: () => Refused): Promise<T> {
  const { data, error, response } = await asking.catch(() => {
    throw noAnswer()
  })
  if (response.ok) return data as T // of a status that the description has with this body
  throw refusal(error, response.status)
}

type Page<T> = { items: T[]; next: string | null }
type Asked = { limit: number; cursor?: string }

/** All that there are, a thousand at a time. */
export async function allOf<T>(page: (asked: Asked) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = []
  for (let asked: Asked | undefined = { limit: 1_000 }; asked; ) {
    const { items, next }: Page<T> = await page(asked)
    all.push(...items)
    asked = next === null ? undefined : { limit: 1_000, cursor: next }
  }
  return all
}
