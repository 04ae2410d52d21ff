import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A receiver that answers 200 at once. To be forked: sends its port, then answers each message with the requests since the last one. */
let requests = 0
const server = createServer((request, response) => {
  requests += 1
  request.resume()
  response.end()
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => {
  process.send?.(requests)
  requests = 0
})
process.on('disconnect', () => process.exit())
