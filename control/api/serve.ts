import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Operation } from './operation.ts'
import { type Answer, problem } from './response.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route does; without it there is nothing to describe. */
    operation?: Operation
  }
}

export function send(reply: FastifyReply, { status, headers = {}, body }: Answer): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

/** All that a path takes, by method; for every other method the answer is 405 with what it takes. */
export function path(
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
