import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Code } from '../../settings/error-codes.ts'
import { faultsOf } from '../../settings/faults.ts'
import { type ApiResponse, invalid, problem } from './response.ts'

/** Who may ask for it: anyone at all, whoever has a token or a session, or only who may write. */
export type Access = 'anyone' | 'view' | 'admin'

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** @param operation undefined: nothing is there, which is nobody's to know without a token. */
export const accessTo = (method: string, operation: Pick<Operation, 'access'> | undefined): Access =>
  operation?.access ?? (isRead(method) ? 'view' : 'admin')

/** A header of an answer that clients go by. */
export type AnswerHeader = 'etag' | 'location' | 'set-cookie'

/** An answer as the description shows it. */
export type ResponseSpec = {
  description: string
  /** Of a JSON body, or of the text of another type. Undefined: there is none. */
  body?: z.ZodType
  /** `application/json` unless told. */
  type?: string
  headers?: readonly AnswerHeader[]
}

/** What a client sends beside the path. Validated by whoever takes it, with the same schemas. */
type RequestSpec = {
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

type OperationSpec<Q extends z.ZodType> = RequestSpec & {
  summary: string
  /** What the summary leaves out, as Markdown. */
  description?: string
  /** Unless told a GET takes who may view, and all else who may write. */
  access?: Access
  /** Without it there may be nothing in the query. */
  query?: Q
  /** Those of success, by status. */
  responses: Readonly<Record<number, ResponseSpec>>
  /** Beside what any path of its kind can answer (openapi/codes.ts). */
  errorCodes?: readonly Code[]
}

type Request = FastifyRequest<{ Params: { id: string } }>

/** A request as its handler gets it. */
export type ApiRequest<Q = unknown> = Pick<
  Request,
  'method' | 'params' | 'headers' | 'body' | 'who' | 'caller' | 'ip' | 'protocol'
> & { query: Q }

/** What a path does for one method, and all that the description says of it. */
export type Operation = OperationSpec<z.ZodType> & {
  run(request: Request): ApiResponse | Promise<ApiResponse>
}

const nothing = z.strictObject({})

/** @param declared.handle gets the query as its schema makes it; a query that does not fit is refused before. */
export function operation<Q extends z.ZodType = typeof nothing>(
  declared: OperationSpec<Q> & { handle(asked: ApiRequest<z.output<Q>>): ApiResponse | Promise<ApiResponse> },
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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route does; without it there is nothing to describe. */
    operation?: Operation
  }
}

export function send(reply: FastifyReply, { status, headers = {}, body }: ApiResponse): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

/** All that a path takes, by method; for every other method the answer is 405 with what it takes. */
export function addPath(
  app: FastifyInstance,
  url: string,
  operations: Readonly<Record<string, Operation>>,
): void {
  for (const [method, operation] of Object.entries(operations))
    app.route<{ Params: { id: string } }>({
      method,
      url,
      config: { operation },
      ...(operation.body?.limit && { bodyLimit: operation.body.limit }),
      handler: async (request, reply) => send(reply, await operation.run(request)),
    })
  // HEAD comes with GET
  const allowed = Object.keys(operations).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const refused = problem(
    { code: 'method_not_allowed', message: `This path takes ${allowed.join(', ')}` },
    { allow: allowed.join(', ') },
  )
  const others = app.supportedMethods.filter((method) => !allowed.includes(method))
  // before the body is looked at: whatever it is, it is not wanted
  app.route({
    method: others,
    url,
    onRequest: async (_, reply) => send(reply, refused),
    handler: () => refused.body,
  })
}
