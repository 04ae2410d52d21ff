import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Since the last report. */
export type SinkReport = { requests: number; opened: number }

/**
 * Answers 200 at once, with the body that client libraries expect. Forked with its address: sends its port, then
 * answers each message with a report. On 0.0.0.0 it serves all of 127.0.0.0/8.
 */
const [host = '127.0.0.1'] = process.argv.slice(2)
const ANSWER = Buffer.from('{"success":true}')
let report: SinkReport = { requests: 0, opened: 0 }
const server = createServer((request, response) => {
  report.requests += 1
  request.resume()
  response.end(ANSWER)
})
// longer than the pause of an alternating process
server.keepAliveTimeout = 300_000
server.headersTimeout = 300_000
server.on('connection', (socket) => {
  // on 0.0.0.0 other machines could connect
  if (!socket.remoteAddress?.startsWith('127.')) socket.destroy()
  report.opened += 1
})
// a TCP server's address is an object
server.listen({ port: 0, host, backlog: 4_096 }, () => process.send?.((server.address() as AddressInfo).port))
process.on('message', () => {
  process.send?.(report)
  report = { requests: 0, opened: 0 }
})
process.on('disconnect', () => process.exit())
