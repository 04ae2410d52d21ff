import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createMemoryLimit, readBody } from '../../../ingest/http/body.ts'

/** Reads a body that Node hands over in these pieces. */
function read(...pieces: Buffer[]) {
  const request = new IncomingMessage(new Socket())
  const reading = readBody(
    { request, response: new ServerResponse(request) },
    { bytes: 100, code: 'call_too_large' },
    createMemoryLimit(1_000).open(),
  )
  for (const piece of [...pieces, null]) request.push(piece)
  return reading
}

/** Not of the pool from which Node takes small buffers. */
const whole = Buffer.from(Uint8Array.from({ length: 64 }, (_, index) => index).buffer)

test('a body in one piece is taken as it is', async () => {
  const body = await read(whole)
  expect(body.ok && body.bytes).toBe(whole)
})

test('a piece that is a view of a larger buffer is copied, so that it does not hold that', async () => {
  const body = await read(whole.subarray(8, 32))
  expect(body).toEqual({ ok: true, bytes: whole.subarray(8, 32) })
  expect(body.ok && body.bytes.buffer).not.toBe(whole.buffer)
})

test('of several pieces none is lost, even when the first is a view of a buffer as large as all of them', async () => {
  expect(await read(whole.subarray(0, 40), whole.subarray(40))).toEqual({ ok: true, bytes: whole })
})
