import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { type Arrival, startReceiver } from '../../local/demo.ts'

test("the demo's receiver outlives requests that are not from Sluice", async () => {
  const arrivals: Arrival[] = []
  const url = await startReceiver('s3cret', (arrival) => arrivals.push(arrival))
  expect((await fetch(url)).status).toBe(400) // a browser
  expect((await fetch(url, { method: 'POST', body: 'null' })).status).toBe(400)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{')
  await once(socket.resume(), 'close')
  expect(arrivals).toEqual([])

  const body = '{"type":"track"}'
  const signature = createHmac('sha1', 's3cret').update(body).digest('hex')
  const answer = await fetch(url, { method: 'POST', body, headers: { 'x-signature': signature } })
  expect(answer.status).toBe(200)
  expect(arrivals).toMatchObject([{ type: 'track', body, signatureIsRight: true }])
})
