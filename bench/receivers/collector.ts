import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A trace collector that discards everything. Forked: sends its port, then answers each message with the bytes since
 * the last one.
 */
let bytes = 0
const server = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end())
})
// a TCP server's address is an object
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => {
  process.send?.(bytes)
  bytes = 0
})
process.on('disconnect', () => process.exit())
