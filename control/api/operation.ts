import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Code } from '../../settings/error-codes.ts'
import { faultsOf } from '../../settings/faults.ts'
import { type ApiResponse, invalid, problem } from './response.ts'

/** Who may call an operation: anyone, any token or session, or only those who may write. */
export type Access = 'anyone' | 'view' | 'admin'

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

/**
 * @param operation undefined for an unknown path: without a token, clients do not learn that it is unknown.
 */
export const accessTo = (method: string, operation: Pick<Operation, 'access'> | undefined): Access =>
  operation?.access ?? (isRead(method) ? 'view' : 'admin')

export type ResponseHeader = 'etag' | 'location' | 'set-cookie'

export type ResponseSpec = {
  description: string
  /** JSON, or the text of `type`. Undefined: no body. */
  body?: z.ZodType
  /** Default: `application/json`. */
  type?: string
  headers?: readonly ResponseHeader[]
}

/** Input other than the path. Handlers validate with the same schemas. */
type RequestSpec = {
  headers?: Readonly<Record<string, { schema: z.ZodType; required: boolean; description: string }>>
  /** By content type. `limit` in bytes; default 1 MB. */
  body?: { required: boolean; types: Readonly<Record<string, z.ZodType>>; limit?: number }
}

/** @param required false: the body may be missing. */
export const json = (shape: z.ZodType, required = true) => ({
  required,
  types: { 'application/json': shape },
})

/** Bodies other than JSON are streamed, whatever their length. */
export const isStreamed = (operation: Pick<Operation, 'body'> | undefined): boolean =>
  Object.keys(operation?.body?.types ?? {}).some((type) => type !== 'application/json')

type OperationSpec<Q extends z.ZodType> = RequestSpec & {
  summary: string
  description?: string
  /** Default: `view` for GET, `admin` for everything else. */
  access?: Access
  /** Default: no query parameters. */
  query?: Q
  responses: Readonly<Record<number, ResponseSpec>>
  /** Beside those common to its method and path (`codesOf`). */
  errorCodes?: readonly Code[]
}

type Request = FastifyRequest<{ Params: { id: string } }>

export type ApiRequest<Q = unknown> = Pick<
  Request,
  'method' | 'params' | 'headers' | 'body' | 'who' | 'caller' | 'ip' | 'protocol'
> & { query: Q }

export type Operation = OperationSpec<z.ZodType> & {
  run(request: Request): ApiResponse | Promise<ApiResponse>
}

const nothing = z.strictObject({})

/** @param declared.handle gets the parsed query; an invalid query is rejected before. */
export function operation<Q extends z.ZodType = typeof nothing>(
  declared: OperationSpec<Q> & {
    handle(request: ApiRequest<z.output<Q>>): ApiResponse | Promise<ApiResponse>
  },
): Operation {
  const { handle, ...described } = declared
  // if no schema is declared, Q is the type of `nothing`
  const shape = declared.query ?? (nothing as z.ZodType as Q)
  return {
    ...described,
    query: shape,
    run({ method, params, headers, body, who, caller, ip, protocol, query }) {
      const parsed = shape.safeParse(query, { reportInput: true })
      if (!parsed.success) return invalid(faultsOf(parsed.error, shape))
      return handle({ method, params, headers, body, who, caller, ip, protocol, query: parsed.data })
    },
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Undefined: the route is not documented. */
    operation?: Operation
  }
}

export function send(reply: FastifyReply, { status, headers = {}, body }: ApiResponse): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

/**
 * Refuses requests before their body is read. Not an async hook: Fastify continues with the handler after one that
 * answers, if the client leaves before its answer is sent.
 * @param decide returns undefined if the request passes.
 */
export function refuseEarly(
  app: FastifyInstance,
  decide: (request: FastifyRequest, reply: FastifyReply) => ApiResponse | undefined,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const refusal = decide(request, reply)
    if (refusal) send(reply, refusal)
    else done()
  })
}

/** Leaves other methods unanswered here, because a path with a parameter may serve them. */
export function addOperations(
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
}

/** Answers other methods with 405 and the supported methods. */
export function addPath(
  app: FastifyInstance,
  url: string,
  operations: Readonly<Record<string, Operation>>,
): void {
  addOperations(app, url, operations)
  // HEAD comes with GET
  const allowed = Object.keys(operations).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const refused = problem(
    { code: 'method_not_allowed', message: `This path supports ${allowed.join(', ')}` },
    { allow: allowed.join(', ') },
  )
  const others = app.supportedMethods.filter((method) => !allowed.includes(method))
  // rejected before the body is read
  app.route({
    method: others,
    url,
    // does not call `done`, so the handler never runs
    onRequest: (_request, reply, _done) => void send(reply, refused),
    handler: () => refused.body,
  })
}
