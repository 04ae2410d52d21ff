import { connect } from 'node:net'
import { bodies } from './calls.ts'

/**
 * Sends calls on kept connections, one request under way on each, as fast as they are answered. To be forked with
 * `[url, path, writeKey, calls in a batch, connections]`; answers each message with what came since the last one.
 * It writes prepared bytes and reads only the status: it must cost less than what it measures.
 */
const [url = '', path = '', writeKey = '', batch = '1', connections = '1'] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`
const requests = bodies(Number(batch)).map((body) => {
  const head = `POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json`
  return Buffer.from(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
})

export type LoadReport = { requests: number; errors: number; p50Ms: number; p99Ms: number }

let next = 0
let errors = 0
let latencies: number[] = []

function open(): void {
  const socket = connect(Number(port), hostname)
  socket.setNoDelay(true)
  let sentAt = 0
  function send(): void {
    sentAt = performance.now()
    const request = requests[next++ % requests.length]
    if (request) socket.write(request)
  }
  socket.on('connect', send)
  socket.on('data', (answer) => {
    latencies.push(performance.now() - sentAt)
    // answers are small enough to come in one piece
    if (answer.toString('latin1', 9, 12) !== '200') errors += 1
    send()
  })
  socket.on('error', () => {
    errors += 1
  })
}

for (let i = 0; i < Number(connections); i++) open()

process.on('message', () => {
  const sorted = latencies.sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  process.send?.({ requests: sorted.length, errors, p50Ms: at(0.5), p99Ms: at(0.99) } satisfies LoadReport)
  latencies = []
  errors = 0
})
process.on('disconnect', () => process.exit())
