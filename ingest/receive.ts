import type { FastifyError, FastifyReply, FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import type { Logger } from '../log.ts'
import { errorAnswer } from './answer.ts'
import type { Code } from './codes.ts'
import type { RouteType } from './judge.ts'
import { BATCH_BYTES, CALL_BYTES } from './limits.ts'
import type { Meter } from './metrics.ts'
import { send, sendAndLinger } from './reply.ts'
import type { Take } from './take.ts'

export type ReceiveOptions = {
  take: Take
  meter: Pick<Meter, 'began' | 'ended' | 'refused'>
  log: Pick<Logger, 'error'>
}

const NO_BODY = Buffer.alloc(0)

/** What one route does: hands the bytes of a request to `take`, and sends what that answers. */
export function receive(
  type: RouteType,
  { take, meter, log }: ReceiveOptions,
): RouteShorthandOptionsWithHandler {
  const tooLarge = type === 'batch' ? 'batch_too_large' : 'call_too_large'

  function refuse(code: Code, reply: FastifyReply): FastifyReply {
    meter.refused(type, code)
    return send(reply, errorAnswer(code))
  }

  return {
    bodyLimit: type === 'batch' ? BATCH_BYTES : CALL_BYTES,
    async handler({ headers, query, body, ip }, reply) {
      const encoding = headers['content-encoding']
      if (encoding !== undefined && encoding !== 'identity') return refuse('unsupported_encoding', reply)
      const start = performance.now()
      meter.began()
      try {
        const bytes = Buffer.isBuffer(body) ? body : NO_BODY
        return send(reply, await take({ type, authorization: headers.authorization, query, body: bytes }, ip))
      } finally {
        meter.ended(type, (performance.now() - start) / 1000)
      }
    },
    errorHandler(error, request, reply) {
      if (error.statusCode === 413) {
        meter.refused(type, tooLarge)
        sendAndLinger(request, reply, errorAnswer(tooLarge))
      } else fail({ error, reply, log })
    },
  }
}

/** For what no route has answered: a request that HTTP does not allow, or a fault of ours. */
export function fail({
  error,
  reply,
  log,
}: {
  error: FastifyError
  reply: FastifyReply
  log: ReceiveOptions['log']
}): void {
  const isOurs = (error.statusCode ?? 500) >= 500
  if (isOurs) log.error({ err: error }, 'a request has failed')
  send(reply, errorAnswer(isOurs ? 'internal_error' : 'bad_request'))
}

/** Clients send JSON as `text/plain`, as a form, with a type that is none, or without one. */
export function ignoreContentType({ raw }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  raw.headers['content-type'] = undefined
  done()
}
