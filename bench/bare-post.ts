import { createHmac } from 'node:crypto'
import { Agent } from 'undici'
import { deliveryBodies } from './calls.ts'

/**
 * The bare loop beside which the deliverer is measured: the same HTTP client, a signature over each body, and nothing else.
 * To be forked with `[url, POSTs under way at once, secret]`.
 */
const [url = '', concurrency = '1', secret = ''] = process.argv.slice(2)
const { origin, pathname: path } = new URL(url)
const bodies = deliveryBodies()
const agent = new Agent({ connections: Number(concurrency), pipelining: 1 })

async function loop(start: number): Promise<never> {
  for (let next = start; ; next++) {
    const body = bodies[next % bodies.length] ?? ''
    const headers = {
      'content-type': 'application/json',
      'x-signature': createHmac('sha1', secret).update(body).digest('hex'),
    }
    const response = await agent.request({ origin, path, method: 'POST', headers, body })
    await response.body.dump()
  }
}

for (let index = 0; index < Number(concurrency); index++) void loop(index)
process.on('disconnect', () => process.exit())
