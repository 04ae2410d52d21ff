import { createHmac } from 'node:crypto'
import { Agent, Client, type Dispatcher } from 'undici'
import { deliveryBodies } from '../load/calls.ts'

/**
 * The baselines for the deliverer: they only sign and send, with the same HTTP client. Forked with `[request |
 * dispatch, POSTs in flight, secret]`; begins when it gets the URLs. `request` uses the client in the usual way, on the
 * URLs in turn. `dispatch` works like the deliverer, on the first URL: a connection for each POST in flight, and no
 * stream.
 */
const [how = '', concurrency = '1', secret = ''] = process.argv.slice(2)
let places: { origin: string; path: string }[] = []
const bodies = deliveryBodies()

function post(index: number) {
  const body = bodies[index % bodies.length] ?? ''
  const headers = {
    'content-type': 'application/json',
    'x-signature': createHmac('sha1', secret).update(body).digest('hex'),
  }
  const place = places[index % places.length] ?? { origin: '', path: '' }
  return { ...place, method: 'POST', headers, body } as const
}

let sent = 0
async function request(agent: Agent): Promise<never> {
  for (;;) {
    // a connection may end while this process is paused
    const response = await agent.request(post(sent++)).catch(() => undefined)
    await response?.body.dump()
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

process.once('message', (urls: readonly string[]) => {
  places = urls.map((url) => {
    const { origin, pathname: path } = new URL(url)
    return { origin, path }
  })
  const agent = new Agent({ connections: Math.ceil(Number(concurrency) / places.length), pipelining: 1 })
  for (let index = 0; index < Number(concurrency); index++) {
    if (how === 'dispatch') dispatch(new Client(post(0).origin, { pipelining: 1 }), index)
    else void request(agent)
  }
  process.send?.('begun')
})
process.on('disconnect', () => process.exit())
