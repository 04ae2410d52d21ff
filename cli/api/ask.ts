import got, { RequestError } from 'got'
import { CliFault } from '../fault.ts'
import type { Target } from '../target/target.ts'

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
