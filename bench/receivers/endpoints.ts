import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { numberIn, numberInBody } from '../load/calls.ts'
import { nowUs } from '../stack/machine.ts'
import type { Behaviour, EndpointsReport, Hosts, Instruction } from './start.ts'
import { createTally, type Tally } from './tally.ts'

/**
 * Answer 200 at once, until some are told to misbehave. Forked with the host number of each endpoint: sends their URLs,
 * which end with the endpoint's number, then answers each instruction. Must cost less than the measured process: reads
 * two headers, and a body only if its sender puts the id nowhere else.
 */
const SLOW_MS = 2_000

let tally: Tally | undefined
let bad: { first: number; behaviour: Behaviour } = { first: 0, behaviour: 'answers' }
/** First attempts since some turned bad. */
let firsts = { healthy: 0, bad: 0 }
// from our own parent
const hosts = JSON.parse(process.argv[2] ?? '') as Hosts
const answered = new Array<number>(hosts.length).fill(0)
let countedFrom = 0

const servers = Array.from({ length: Math.max(...hosts) + 1 }, () =>
  createServer((request, response) => {
    const index = Number(request.url?.slice(1))
    const isBad = index < bad.first
    if (index >= countedFrom) arrive(request)
    count(request.headers, isBad)
    request.resume()
    if (isBad) misbehave(request, response)
    else {
      answered[index] = (answered[index] ?? 0) + 1
      response.end()
    }
  }),
)

function arrive(request: IncomingMessage): void {
  const id = request.headers['x-message-id']
  if (id !== undefined) tally?.arrive(numberIn(String(id)), nowUs())
  else request.once('data', (start: Buffer) => tally?.arrive(numberInBody(start), nowUs()))
}

function count(headers: IncomingMessage['headers'], isBad: boolean): void {
  if (headers['x-attempt'] === '1') firsts[isBad ? 'bad' : 'healthy'] += 1
}

function misbehave({ socket }: IncomingMessage, response: ServerResponse): void {
  const { behaviour } = bad
  if (behaviour === 'slow') setTimeout(() => response.end(), SLOW_MS)
  else if (behaviour === 'failing') response.writeHead(503).end()
  else if (behaviour === 'resetting') socket.resetAndDestroy()
  else if (behaviour !== 'silent') response.end()
}

function listen(server: Server, index: number): Promise<string> {
  const host = `127.0.1.${index + 1}`
  server.keepAliveTimeout = 60_000
  return new Promise((resolve) => {
    // a TCP server's address is an object
    server.listen(0, host, () => resolve(`http://${host}:${(server.address() as AddressInfo).port}`))
  })
}

function obey(instruction: Instruction): EndpointsReport | readonly number[] | 'done' {
  if (instruction === 'answered') return answered
  if (instruction === 'report') return { windows: tally?.report(nowUs()) ?? [], firsts }
  if ('schedule' in instruction) {
    tally = createTally(instruction.schedule)
    countedFrom = instruction.schedule.countedFrom ?? 0
  } else {
    bad = { first: instruction.bad, behaviour: instruction.behaviour }
    firsts = { healthy: 0, bad: 0 }
    if (bad.behaviour === 'refusing') servers.slice(0, (hosts[bad.first - 1] ?? -1) + 1).forEach(leave)
  }
  return 'done'
}

function leave(server: Server): void {
  server.close()
  server.closeAllConnections()
}

process.on('message', (message) => process.send?.(obey(message as Instruction))) // our own parent's
process.on('disconnect', () => process.exit())
const origins = await Promise.all(servers.map(listen))
process.send?.(hosts.map((host, index) => `${origins[host]}/${index}`))
