import { expect, test } from 'vitest'
import { numberIn, numberInBody, pathOf, prepareRequests, putNumbers } from '../../bench/load/calls.ts'

/** What a peer passes on of a request. */
const forwarded = {
  sluice: (body: string) => numberIn(JSON.parse(body).messageId),
  outpost: (body: string) => numberIn(JSON.parse(body).id),
  svix: (body: string) => numberInBody(Buffer.from(body.slice(body.indexOf('"payload":')))),
  convoy: (body: string) => numberIn(JSON.parse(body).custom_headers['x-message-id']),
}

test.for(['sluice', 'outpost', 'svix', 'convoy'] as const)('%s gets the number of each call', (target) => {
  const access = { path: '/app/{key}', authorization: 'Bearer token' }
  const at = target === 'sluice' ? { path: pathOf(target) } : access
  const options = { target, url: 'http://127.0.0.1:80', ...at, keys: ['a', 'b'], connections: 1 }
  const request = prepareRequests({ ...options, batch: 1 })[1]
  if (!request) throw new Error('no request')
  putNumbers(request, 1_234_567)
  const [head = '', body = ''] = request.bytes.toString().split('\r\n\r\n')
  expect(head).toContain(target === 'sluice' ? 'POST /v1/track HTTP/1.1' : 'POST /app/b HTTP/1.1')
  expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`)
  expect(forwarded[target](body)).toBe(1_234_567)
})
