import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, problem } from './answer.ts'

export function send(reply: FastifyReply, { status, headers = {}, body }: Answer): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

export type Asked = FastifyRequest<{ Params: { id: string } }>
export type Handler = (request: Asked) => Answer | Promise<Answer>

/** All that a path takes, by method; for every other method the answer is 405 with what it takes. */
export function path(app: FastifyInstance, url: string, handlers: Readonly<Record<string, Handler>>): void {
  for (const [method, handler] of Object.entries(handlers))
    app.route<{ Params: { id: string } }>({
      method,
      url,
      handler: async (request, reply) => send(reply, await handler(request)),
    })
  // HEAD comes with GET
  const allowed = Object.keys(handlers).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const refused = problem(
    405,
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
