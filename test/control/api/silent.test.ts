import { once } from 'node:events'
import { connect } from 'node:net'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { dropSilentAtShutdown } from '../../../control/app.ts'
import { until } from '../../helpers/until.ts'

async function server(onClosing = async () => {}) {
  const app = fastify({ return503OnClosing: false })
  dropSilentAtShutdown(app)
  let connections = 0
  app.server.on('connection', () => {
    connections += 1
  })
  const asking = Promise.withResolvers<void>()
  const answering = Promise.withResolvers<void>()
  app.get('/slow', async (_, reply) => {
    asking.resolve()
    await answering.promise
    return reply.header('connection', 'close').send('whole')
  })
  app.addHook('preClose', onClosing)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return { app, port, connections: () => connections, asked: asking.promise, answer: answering.resolve }
}

test('a connection without a request does not delay the shutdown', async () => {
  const { app, port, connections } = await server()
  const silent = connect(port, '127.0.0.1')
  await until(() => connections() === 1)
  const closed = once(silent, 'close')
  await app.close()
  await closed
})

test('a connection opened during the shutdown does not delay it', async () => {
  const late = Promise.withResolvers<void>()
  const { app, port, connections } = await server(() => late.promise)
  const closing = app.close()
  const silent = connect(port, '127.0.0.1')
  await until(() => connections() === 1)
  late.resolve()
  await Promise.all([closing, once(silent, 'close')])
})

test('requests in progress are answered first', async () => {
  const { app, port, asked, answer } = await server()
  const asking = fetch(`http://127.0.0.1:${port}/slow`)
  await asked
  const closing = app.close()
  answer()
  expect(await (await asking).text()).toBe('whole')
  await closing
})
