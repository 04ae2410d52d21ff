import { createHmac } from 'node:crypto'
import { Agent, Client, type Dispatcher } from 'undici'
import { deliveryBodies } from '../load/calls.ts'

/**
 * The baselines for the deliverer: loops over the same HTTP client that only sign and send. Forked with `[request |
 * dispatch, url, POSTs in flight, secret]`. `request` is the usual way to use the client. `dispatch` works like the
 * deliverer: a connection for each POST in flight, and a handler without a stream.
 */
const [how = '', url = '', concurrency = '1', secret = ''] = process.argv.slice(2)
const { origin, pathname: path } = new URL(url)
const bodies = deliveryBodies()

function post(index: number) {
  const body = bodies[index % bodies.length] ?? ''
  const headers = {
    'content-type': 'application/json',
    'x-signature': createHmac('sha1', secret).update(body).digest('hex'),
  }
  return { path, method: 'POST', headers, body } as const
}

async function request(agent: Agent, start: number): Promise<never> {
  for (let next = start; ; next++) {
    const response = await agent.request({ origin, ...post(next) })
    await response.body.dump()
  }
}

function dispatch(client: Client, start: number): void {
  let next = start
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart() {},
    onResponseStart() {},
    onResponseData() {},
    onResponseEnd: begin,
    onResponseError(_, error) {
      throw error
    },
  }
  function begin(): void {
    client.dispatch(post(next++), handler)
  }
  begin()
}

const agent = new Agent({ connections: Number(concurrency), pipelining: 1 })
for (let index = 0; index < Number(concurrency); index++) {
  if (how === 'dispatch') dispatch(new Client(origin, { pipelining: 1 }), index)
  else void request(agent, index)
}
process.on('disconnect', () => process.exit())
