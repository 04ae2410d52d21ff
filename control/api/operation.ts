import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { parseFields, QUERY_FIELDS } from '../../http/query.ts'
import type { Code } from '../../settings/error-codes.ts'
import { faultsOf } from '../../settings/faults.ts'
import { type ApiResponse, invalid, problem } from './response.ts'

/** `view`: any token or session. `admin`: only those who may write. */
export type Access = 'anyone' | 'view' | 'admin'

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

/** @param operation undefined for an unknown path, which only clients with a token learn. */
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

/** Handlers validate with the same schemas. */
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

/** A query parameter that is `true` or `false`. */
export const flag = (description: string) => z.enum(['true', 'false']).optional().describe(description)

/** Bodies other than JSON are streamed, of any length. */
export const isStreamed = (operation: Pick<Operation, 'body'> | undefined): boolean =>
  Object.keys(operation?.body?.types ?? {}).some((type) => type !== 'application/json')

type OperationSpec<Q extends z.ZodType> = RequestSpec & {
  summary: string
  description?: string
  /** Default: `view` for GET, `admin` for others. */
  access?: Access
  /** Accepts workspace tokens. The handler uses only records of `caller.workspaceId`. */
  inWorkspace?: boolean
  query?: Q
  responses: Readonly<Record<number, ResponseSpec>>
  /** Beside those of `codesOf`. */
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

const tooManyParameters = invalid([
  { pointer: '', code: 'too_many', message: `has too many parameters: at most ${QUERY_FIELDS}` },
])

/** The router gets the path alone (control/app.ts). */
function queryOf(url: string): string {
  const at = url.search(/[?#]/)
  return at === -1 ? '' : url.slice(at + 1)
}

/** @param declared.handle gets the parsed query. */
export function operation<Q extends z.ZodType = typeof nothing>(
  declared: OperationSpec<Q> & {
    handle(request: ApiRequest<z.output<Q>>): ApiResponse | Promise<ApiResponse>
  },
): Operation {
  const { handle, ...described } = declared
  // without a schema, Q is the type of `nothing`
  const shape = declared.query ?? (nothing as z.ZodType as Q)
  return {
    ...described,
    query: shape,
    run({ method, params, headers, body, who, caller, ip, protocol, originalUrl }) {
      const query = queryOf(originalUrl)
      if (query.split('&', QUERY_FIELDS + 1).length > QUERY_FIELDS) return tooManyParameters
      const parsed = shape.safeParse(parseFields(query), { reportInput: true })
      if (!parsed.success) return invalid(faultsOf(parsed.error, shape))
      return handle({ method, params, headers, body, who, caller, ip, protocol, query: parsed.data })
    },
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Undefined: not documented. */
    operation?: Operation
  }
}

export function send(reply: FastifyReply, { status, headers = {}, body }: ApiResponse): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

/**
 * Runs before the body is read. Not an async hook: Fastify would go on to the handler if the client leaves before its
 * answer.
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

/** Leaves other methods to paths with a parameter. */
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

/** Answers other methods with 405. */
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
  // before the body is read
  app.route({
    method: others,
    url,
    // does not call `done`, so the handler never runs
    onRequest: (_request, reply, _done) => void send(reply, refused),
    handler: () => refused.body,
  })
}
