import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { fakeIngest, post } from '../fake.ts'
import { answerOf, chunked, head, open } from './wire.ts'

const call = { userId: 'u', event: 'Bought' }
const item = { type: 'track', ...call }

/** Exactly this many bytes of JSON, with letters of two bytes. */
function ofBytes(bytes: number, wrap: (note: string) => object): Buffer {
  const frame = Buffer.byteLength(JSON.stringify(wrap('é')))
  return Buffer.from(JSON.stringify(wrap(`é${'x'.repeat(bytes - frame)}`)))
}
/** What gzip hardly shrinks. */
const noise = (bytes: number) => randomBytes((bytes * 3) / 4).toString('base64')
const notes = [noise(16_000), ...Array(15).fill('y'.repeat(31_000)), 'y'.repeat(15_000)]
const kinds = {
  call: { path: '/v1/track', limit: 32_768, wrap: (note: string) => ({ ...call, properties: { note } }) },
  batch: {
    path: '/v1/batch',
    limit: 512_000,
    wrap: (note: string) => ({ batch: [item, item], notes, note }),
  },
}

type Framing = (body: Buffer) => [fields: string, sent: Buffer]
const framings: Record<string, Framing> = {
  plain: (body) => [`Content-Length: ${body.length}`, body],
  'plain, chunked': (body) => ['Transfer-Encoding: chunked', chunked(body)],
  gzip: (body) => withLength('gzip', gzipSync(body)),
  'gzip that does not shrink': (body) => withLength('GZip', gzipSync(body, { level: 0 })),
  'gzip, chunked': (body) => [
    'Content-Encoding: x-gzip\r\nTransfer-Encoding: chunked',
    chunked(gzipSync(body)),
  ],
}
function withLength(encoding: string, sent: Buffer): [string, Buffer] {
  return [`Content-Encoding: ${encoding}\r\nContent-Length: ${sent.length}`, sent]
}

describe.each(Object.entries(kinds))('the limit of a %s holds at the byte', (kind, { path, limit, wrap }) => {
  const cases = Object.entries(framings).flatMap(([name, framing]) =>
    [-1, 0, 1].map((over) => [name, over, over > 0 ? 413 : 200, framing] as const),
  )
  test.each(cases)('%s, %d over it: %d', async (_name, over, status, framing) => {
    const ingest = fakeIngest()
    const body = ofBytes(limit + over, wrap)
    expect(body).toHaveLength(limit + over)
    const [fields, sent] = framing(body)
    const socket = await open(ingest)
    socket.write(head(`${fields}\r\nConnection: close`, path))
    socket.write(sent)
    const answer = await answerOf(socket)
    expect(answer.status).toBe(status)
    if (status === 413) expect(JSON.parse(answer.body).code).toBe(`${kind}_too_large`)
    expect(ingest.events()).toHaveLength(status === 200 ? (kind === 'batch' ? 2 : 1) : 0)
  })
})

test.each([
  [2_499, 200],
  [2_500, 200],
  [2_501, 413],
])('a batch of %d calls: %d', async (calls, expected) => {
  const ingest = fakeIngest()
  const body = gzipSync(JSON.stringify({ batch: Array(calls).fill(item), note: noise(4_000) }))
  const answer = await post(ingest, '/v1/batch', body, { 'content-encoding': 'gzip' })
  expect(answer.statusCode).toBe(expected)
  expect(ingest.events()).toHaveLength(expected === 200 ? calls : 0)
})

test.each([
  [63, 200],
  [64, 200],
  [65, 400],
])('a call of %d levels: %d', async (levels, expected) => {
  const properties = `${'{"a":'.repeat(levels - 2)}{}${'}'.repeat(levels - 2)}`
  const answer = await post(
    fakeIngest(),
    '/v1/track',
    `{"userId":"u","event":"x","properties":${properties}}`,
  )
  expect(answer.statusCode).toBe(expected)
  if (expected === 400) expect(answer.json().code).toBe('too_deep')
})

describe('Content-Encoding', () => {
  const whole = gzipSync(JSON.stringify(call))
  test.each([
    ['gzip', whole],
    ['X-GZIP', whole],
    [' gzip ', whole],
    ['gzip', Buffer.concat([gzipSync('{"userId":"u",'), gzipSync('"event":"x"}')])],
    ['identity', JSON.stringify(call)],
    ['Identity', JSON.stringify(call)],
    ['', JSON.stringify(call)],
  ])('%j is read', async (encoding, body) => {
    const ingest = fakeIngest()
    expect((await post(ingest, '/v1/track', body, { 'content-encoding': encoding })).statusCode).toBe(200)
    expect(ingest.events()).toHaveLength(1)
  })

  test.each([
    ['that is none', Buffer.from(JSON.stringify(call))],
    ['cut off', whole.subarray(0, -1)],
    ['cut off in its middle', whole.subarray(0, 20)],
    ['with another check sum', Buffer.concat([whole.subarray(0, -8), Buffer.alloc(8)])],
    ['with something after it', Buffer.concat([whole, Buffer.from('x')])],
    ['of nothing', Buffer.alloc(0)],
    ['of what is no UTF-8', gzipSync(Buffer.from('7b2261223a22ff227d', 'hex'))],
  ])('gzip %s is invalid_encoding', async (_what, body) => {
    const ingest = fakeIngest()
    const answer = await post(ingest, '/v1/track', body, { 'content-encoding': 'gzip' })
    expect(answer.statusCode).toBe(400)
    expect(answer.json().code).toBe('invalid_encoding')
    expect(ingest.events()).toEqual([])
  })

  test.each(['br', 'deflate', 'zstd', 'gzip, gzip', 'gzip, br', 'gzipp'])(
    '%j is unsupported_encoding, with the supported ones named',
    async (encoding) => {
      const answer = await post(fakeIngest(), '/v1/track', whole, { 'content-encoding': encoding })
      expect(answer.statusCode).toBe(415)
      expect(answer.json()).toEqual({
        code: 'unsupported_encoding',
        message: expect.stringMatching(/gzip.*identity/),
      })
    },
  )
})
