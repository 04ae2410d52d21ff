import type { FastifyInstance } from 'fastify'

/** Node stops looking at slow clients when a server closes: one of them must not hold up the end of the process. @param ms for what is under way then. */
export function endInTime(app: FastifyInstance, ms: number): void {
  let timer: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    timer = setTimeout(() => app.server.closeAllConnections(), ms)
  })
  app.addHook('onClose', async () => clearTimeout(timer))
}
