import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent } from 'undici'

/**
 * The baseline for the whole system: a server that parses a call, answers, and posts the call to its key's webhook,
 * signed, with the deliverer's HTTP client. It keeps nothing. Forked with the URLs of the webhooks, whose keys are their
 * indexes; sends its own URL.
 */
// from our own parent
const urls = JSON.parse(process.argv[2] ?? '') as readonly string[]
const agent = new Agent({ connections: 64, pipelining: 1 })

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString()
    const { messageId } = JSON.parse(body)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}')
    const key = Buffer.from(request.headers.authorization?.slice('Basic '.length) ?? '', 'base64')
    void post(urls[Number.parseInt(key.toString(), 10)] ?? '', body, messageId)
  })
})

async function post(url: string, body: string, messageId: string): Promise<void> {
  const { origin, pathname: path } = new URL(url)
  const headers = {
    'content-type': 'application/json',
    'x-message-id': messageId,
    'x-signature': createHmac('sha1', 'secret').update(body).digest('hex'),
  }
  const response = await agent.request({ origin, path, method: 'POST', headers, body })
  await response.body.dump()
}

server.listen(0, '127.0.0.1', () => {
  // a TCP server's address is an object
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.on('disconnect', () => process.exit())
