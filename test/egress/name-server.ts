import { createSocket } from 'node:dgram'
import { onTestFinished } from 'vitest'

/** Addresses with their time in seconds, a failure by its number (2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED), or no answer. */
export type DnsReply = { addresses: string[]; ttl?: number } | { rcode: number } | 'silence'
export type Question = { name: string; type: 'A' | 'AAAA' }

const TYPES: Record<number, Question['type']> = { 1: 'A', 28: 'AAAA' }

/** Until the test is over (RFC 1035, 4.1). `asked`: all questions so far. */
export async function nameServer(say: (question: Question) => DnsReply | Promise<DnsReply>) {
  const asked: Question[] = []
  const socket = createSocket('udp4')
  let isOpen = true
  socket.on('message', async (message, { port, address }) => {
    const question = questionOf(message)
    asked.push(question)
    const said = await say(question)
    if (said !== 'silence' && isOpen) socket.send(answer(message, said), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    isOpen = false
    socket.close()
  })
  return { servers: [`127.0.0.1:${socket.address().port}`], asked }
}

const HEADER = 12

function questionOf(message: Buffer): Question {
  const labels: string[] = []
  let at = HEADER
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('ascii', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), type: TYPES[message.readUInt16BE(at + 1)] ?? 'A' }
}

function answer(message: Buffer, reply: Exclude<DnsReply, 'silence'>): Buffer {
  const addresses = 'rcode' in reply ? [] : reply.addresses
  const question = message.subarray(HEADER, message.indexOf(0, HEADER) + 5)
  const header = Buffer.alloc(HEADER)
  header.writeUInt16BE(message.readUInt16BE(0), 0)
  // an answer, recursion asked for and available
  header.writeUInt16BE(0x8180 | ('rcode' in reply ? reply.rcode : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  const ttl = 'rcode' in reply ? 0 : (reply.ttl ?? 60)
  return Buffer.concat([header, question, ...addresses.map((address) => record(address, ttl))])
}

/** The name is a pointer to that in the question. */
function record(address: string, ttl: number): Buffer {
  const data = address.includes(':')
    ? Buffer.from(
        address
          .split(':')
          .map((part) => part.padStart(4, '0'))
          .join(''),
        'hex',
      )
    : Buffer.from(address.split('.').map(Number))
  const head = Buffer.from([0xc0, HEADER, 0, data.length === 4 ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length])
  head.writeUInt32BE(ttl, 6)
  return Buffer.concat([head, data])
}
