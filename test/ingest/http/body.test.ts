import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createMemoryLimit, readBody } from '../../../ingest/http/body.ts'

const readFrom = (request: IncomingMessage) =>
  readBody(
    { request, response: new ServerResponse(request) },
    { bytes: 100_000, code: 'call_too_large' },
    createMemoryLimit(1_000_000).open('127.0.0.1'),
  )

/** As Node hands it over. */
function read(...pieces: Buffer[]) {
  const request = new IncomingMessage(new Socket())
  const reading = readFrom(request)
  for (const piece of [...pieces, null]) request.push(piece)
  return reading
}

/** Not of the pool from which Node takes small buffers. */
const whole = Buffer.from(Uint8Array.from({ length: 64 }, (_, index) => index).buffer)

test('a body in one chunk is not copied', async () => {
  const body = await read(whole)
  expect(body.ok && body.bytes).toBe(whole)
})

test('a chunk that is a view of a larger buffer is copied, so that the buffer can be freed', async () => {
  const body = await read(whole.subarray(8, 32))
  expect(body).toMatchObject({ ok: true, bytes: whole.subarray(8, 32) })
  expect(body.ok && body.bytes.buffer).not.toBe(whole.buffer)
})

test('several chunks are joined without loss, even if the first is a view of a buffer as large as all of them', async () => {
  expect(await read(whole.subarray(0, 40), whole.subarray(40))).toMatchObject({ ok: true, bytes: whole })
})

test('each chunk is copied when it arrives: kept separately, 500,000 chunks of one byte took 600 MB', async () => {
  const request = new IncomingMessage(new Socket())
  const reading = readFrom(request)
  request.emit('data', Buffer.from(Uint8Array.of(0).buffer))
  const piece = Buffer.from(Uint8Array.of(0).buffer)
  for (let index = 1; index < 10_000; index++) {
    piece[0] = index % 251
    request.emit('data', piece)
  }
  request.emit('end')
  const body = await reading
  expect(
    body.ok && body.bytes.equals(Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 251))),
  ).toBe(true)
})

describe('the last quarter of the memory for requests', () => {
  test('is reserved for networks that hold at most an eighth', () => {
    const memory = createMemoryLimit(1_000)
    const large = ['203.0.113.9', '203.0.113.9'].map((ip) => memory.open(ip))
    expect(large.map((lease) => lease.add(375))).toEqual([true, true])
    expect(large[0]?.add(1)).toBe(false)
    const other = memory.open('198.51.100.1')
    expect([other.add(125), other.add(10), other.add(1)]).toEqual([true, true, false])
    expect(memory.open('198.51.100.2').add(115)).toBe(true)
    expect(memory.open('198.51.100.3').add(1)).toBe(false)
    for (const lease of large) lease[Symbol.dispose]()
    expect(memory.bytes()).toBe(250)
    expect(memory.open('203.0.113.9').add(500)).toBe(true)
  })

  test('treats an IPv6 /48 as one network', () => {
    const memory = createMemoryLimit(1_000)
    expect(memory.open('2001:db8::1').add(700)).toBe(true)
    expect(memory.open('2001:db8:0:1::2').add(100)).toBe(false)
    expect(memory.open('2001:db8:1::2').add(100)).toBe(true)
  })
})
