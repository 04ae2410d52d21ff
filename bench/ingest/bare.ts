import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The baseline for ingest: reads a body, parses it, answers. Prints its port. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString())
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}')
  })
})
server.listen(0, '127.0.0.1', () => {
  // a TCP server's address is an object
  const { port } = server.address() as AddressInfo
  process.stdout.write(`http://127.0.0.1:${port}\n`)
})
