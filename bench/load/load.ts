import { connect } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { nowUs } from '../stack/machine.ts'
import { prepareRequests, putNumbers } from './calls.ts'
import type { LoadOptions, LoadReport } from './start.ts'

/**
 * Sends calls on kept-alive connections, one request in flight on each. Forked with its options as JSON; answers each
 * message with the figures since the last one. Must cost less than the measured process: writes prepared bytes, and
 * reads only the status.
 */
// from our own parent
const options = JSON.parse(process.argv[2] ?? '') as LoadOptions
const { batch, connections, perSecond, fromUs } = options
const { hostname, port } = new URL(options.url)
const requests = prepareRequests(options)

/** `dueAt`: when the request was due. */
type Send = (dueAt: number) => void

let next = 0
let errors = 0
/** In microseconds. Sorting a list would pause the load for longer than a call takes. */
const latencies = createHistogram()

/** @param onFree called when the connection can take a request */
function open(onFree: (send: Send) => void): void {
  const socket = connect(port ? Number(port) : 80, hostname)
  socket.setNoDelay(true)
  let dueAt = 0
  function send(at: number): void {
    dueAt = at
    const number = next++
    const request = requests[number % requests.length]
    if (!request) return
    // there are more buffers than connections, so the kernel has read this one
    if (fromUs !== undefined) putNumbers(request, number * batch)
    socket.write(request.bytes)
  }
  socket.on('connect', () => onFree(send))
  socket.on('data', (answer) => {
    latencies.record(Math.max(1, Math.round((performance.now() - dueAt) * 1_000)))
    // small answers arrive in one piece
    if (answer.toString('latin1', 9, 10) !== '2') errors += 1
    onFree(send)
  })
  socket.on('error', () => {}) // 'close' follows
  socket.on('close', () => {
    errors += 1
  })
}

/** Sends as fast as requests are answered. */
const closedLoop = (send: Send) => send(performance.now())

/**
 * Sends at a fixed rate, however slow the answers. A request may wait for a connection: its latency counts from when it
 * was due.
 */
function openLoop(rate: number): (send: Send) => void {
  const free: Send[] = []
  const due: number[] = []
  const now = performance.now()
  const start = fromUs === undefined ? now : now + (fromUs - nowUs()) / 1_000
  let planned = 0
  setInterval(() => {
    for (const now = performance.now(); start + (planned * 1_000) / rate <= now; planned++) {
      const at = start + (planned * 1_000) / rate
      const send = free.shift()
      if (send) send(at)
      else due.push(at)
    }
  }, 1)
  return (send) => {
    const at = due.shift()
    if (at === undefined) free.push(send)
    else send(at)
  }
}

if (fromUs !== undefined && requests.length <= connections)
  throw new Error(`at most ${requests.length - 1} connections`)
const onFree = perSecond === undefined ? closedLoop : openLoop(perSecond)
for (let i = 0; i < connections; i++) open(onFree)

process.on('message', () => {
  const ms = (percentile: number) => latencies.percentile(percentile) / 1_000
  const report: LoadReport = { requests: latencies.count, errors, p50Ms: ms(50), p99Ms: ms(99) }
  process.send?.(report)
  latencies.reset()
  errors = 0
})
process.on('disconnect', () => process.exit())
