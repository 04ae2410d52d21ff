import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Code } from '../../settings/error-codes.ts'
import { faultsOf } from '../../settings/faults.ts'
import { type Answer, invalid } from './response.ts'

/** Who may ask for it: anyone at all, whoever has a token or a session, or only who may write. */
export type Access = 'anyone' | 'view' | 'admin'

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** @param operation undefined: nothing is there, which is nobody's to know without a token. */
export const accessTo = (method: string, operation: Pick<Operation, 'access'> | undefined): Access =>
  operation?.access ?? (isRead(method) ? 'view' : 'admin')

/** A header of an answer that clients go by. */
export type AnswerHeader = 'etag' | 'location' | 'set-cookie'

/** An answer as the description shows it. */
export type Shown = {
  description: string
  /** Of a JSON body, or of the text of another type. Undefined: there is none. */
  body?: z.ZodType
  /** `application/json` unless told. */
  type?: string
  headers?: readonly AnswerHeader[]
}

/** What a client sends beside the path. Validated by whoever takes it, with the same schemas. */
type Taken = {
  /** By name, in lower case. */
  headers?: Readonly<Record<string, { schema: z.ZodType; required: boolean; description: string }>>
  /** By content type. `limit`: of its bytes; 1 MB unless told. */
  body?: { required: boolean; types: Readonly<Record<string, z.ZodType>>; limit?: number }
}

/** A body of JSON. @param required false: there may be none. */
export const json = (shape: z.ZodType, required = true) => ({
  required,
  types: { 'application/json': shape },
})

/** What is no JSON is read as it comes, however long it is. */
export const isStreamed = (operation: Pick<Operation, 'body'> | undefined): boolean =>
  Object.keys(operation?.body?.types ?? {}).some((type) => type !== 'application/json')

type Described<Q extends z.ZodType> = Taken & {
  summary: string
  /** What the summary leaves out, as Markdown. */
  description?: string
  /** Unless told a GET takes who may view, and all else who may write. */
  access?: Access
  /** Without it there may be nothing in the query. */
  query?: Q
  /** Those of success, by status. */
  answers: Readonly<Record<number, Shown>>
  /** Beside what any path of its kind can answer (openapi/codes.ts). */
  refuses?: readonly Code[]
}

type Request = FastifyRequest<{ Params: { id: string } }>

/** A request as its handler gets it. */
export type Asked<Q = unknown> = Pick<
  Request,
  'method' | 'params' | 'headers' | 'body' | 'who' | 'caller' | 'ip' | 'protocol'
> & { query: Q }

/** What a path does for one method, and all that the description says of it. */
export type Operation = Described<z.ZodType> & { run(request: Request): Answer | Promise<Answer> }

const nothing = z.strictObject({})

/** @param declared.handle gets the query as its schema makes it; a query that does not fit is refused before. */
export function operation<Q extends z.ZodType = typeof nothing>(
  declared: Described<Q> & { handle(asked: Asked<z.output<Q>>): Answer | Promise<Answer> },
): Operation {
  const { handle, ...described } = declared
  // without one of its own, Q is that of nothing
  const shape = declared.query ?? (nothing as z.ZodType as Q)
  return {
    ...described,
    query: shape,
    run({ method, params, headers, body, who, caller, ip, protocol, query }) {
      const asked = shape.safeParse(query, { reportInput: true })
      if (!asked.success) return invalid(faultsOf(asked.error))
      return handle({ method, params, headers, body, who, caller, ip, protocol, query: asked.data })
    },
  }
}

/** As `isoTime` makes it. */
export const timeShape = z.iso.datetime().nullable()

/** ISO 8601 UTC with milliseconds. What is beyond all dates is shown as none. */
export const isoTime = (ms: number): string | null =>
  Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : null
