import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CODES, type Code, statusOf } from '../../../ingest/answer.ts'
import { ROUTES } from '../../../ingest/http/routes.ts'
import { codePoint } from '../../helpers/code-point.ts'
import { type FakeIngest, fakeIngest } from '../fake.ts'
import { chunked, head, open, parseAnswers, type WireAnswer } from './wire.ts'

const json = fc.jsonValue({ maxDepth: 4 })
const call = fc.record(
  {
    type: fc.constantFrom('track', 'identify', 'nothing', 5),
    userId: fc.oneof(fc.string(), json),
    event: fc.oneof(fc.string({ unit: codePoint }), json),
    properties: fc.oneof(fc.dictionary(fc.string(), json), json),
    context: fc.oneof(fc.dictionary(fc.string(), json), json),
    timestamp: fc.oneof(fc.date({ noInvalidDate: true }), json),
  },
  { requiredKeys: [] },
)
const value = fc.oneof(call, json, fc.record({ batch: fc.array(fc.oneof(call, json)) }))
const content = fc.oneof(
  { weight: 4, arbitrary: value.map((it) => Buffer.from(JSON.stringify(it))) },
  fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
)

/** With more, the connection closes and the client may lose its answer (strangers.test.ts). */
const MAX_CHUNKS = 250

/** What may happen to a body on its way. */
const encoded = fc
  .record({
    content,
    encoding: fc.constantFrom('', 'gzip', 'GZIP', 'x-gzip', 'identity', 'br'),
    isGzip: fc.boolean(),
    cut: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat(30)),
  })
  .map(({ content: plain, encoding, isGzip, cut }) => {
    const whole = isGzip ? gzipSync(plain) : plain
    return { encoding, body: whole.subarray(0, Math.max(0, whole.length - cut)) }
  })

const request = fc
  .record({
    encoded,
    path: fc.constantFrom(...ROUTES.map((it) => it.path), '/v1/pixel/track', '/', '/v1/%zz', '*'),
    method: fc.constantFrom('POST', 'POST', 'POST', 'POST', 'GET', 'PUT', 'OPTIONS'),
    chunkBytes: fc.option(fc.integer({ min: 1, max: 600 })),
  })
  .map(({ encoded: { encoding, body }, path, method, chunkBytes }) => {
    const framing = chunkBytes === null ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked'
    const fields = `Connection: close\r\nContent-Encoding: ${encoding}\r\n${framing}`
    const top = Buffer.from(head(fields, path).replace('POST', method))
    if (chunkBytes === null) return Buffer.concat([top, body])
    return Buffer.concat([top, chunked(body, Math.max(chunkBytes, Math.ceil(body.length / MAX_CHUNKS)))])
  })

/** How many pieces arrive is up to the network. */
const pieces = fc.array(fc.nat(3_000), { maxLength: 3 })

type Sent = { answers: WireAnswer[]; fault?: NodeJS.ErrnoException }

async function sent(ingest: FakeIngest, bytes: Buffer, cuts: readonly number[]): Promise<Sent> {
  const socket = await open(ingest)
  let text = ''
  socket.on('data', (chunk) => (text += chunk))
  const over = new Promise<NodeJS.ErrnoException | undefined>((resolve) =>
    socket.once('error', resolve).once('end', () => resolve(undefined)),
  )
  const noEnd = setTimeout(() => socket.destroy(new Error('not closed after its answers')), 20_000)
  let at = 0
  for (const cut of [...cuts, bytes.length].sort((a, b) => a - b)) {
    socket.write(bytes.subarray(at, cut))
    at = Math.max(at, cut)
    await new Promise(setImmediate)
  }
  socket.end()
  const fault = await over
  clearTimeout(noEnd)
  await ingest.app.close()
  expect(ingest.errors).toEqual([])
  return { answers: parseAnswers(text), ...(fault && { fault }) }
}

/** Who keeps writing after `Connection: close` gets a reset, and may lose the answer. */
function expectDeserved({ code = '' }: NodeJS.ErrnoException, bytes: Buffer): void {
  expect(['EPIPE', 'ECONNRESET']).toContain(code)
  expect(bytes.toString('latin1')).toMatch(/^connection: close/im)
}

function expectKnown({ status, headers, body }: WireAnswer): void {
  expect(headers['access-control-allow-origin']).toBe('*')
  if (status === 204 || !headers['content-type']?.includes('json')) return
  const { code, success } = JSON.parse(body)
  if (status === 200) expect(success ?? true).toBe(true)
  else expect([CODES.includes(code), statusOf(code as Code)]).toEqual([true, status])
}

test('any request gets one known answer, and accepted calls are readable', async () => {
  await fc.assert(
    fc.asyncProperty(request, pieces, async (bytes, cuts) => {
      const ingest = fakeIngest()
      const { answers, fault } = await sent(ingest, bytes, cuts)
      expect(fault).toBeUndefined()
      expect(answers).toHaveLength(1)
      answers.forEach(expectKnown)
      // decodes each of them, or throws
      const kept = ingest.events().length + ingest.rejected().length
      expect(kept).toBe(ingest.produced.flat().length)
      if (answers[0]?.status !== 200) expect(ingest.events()).toEqual([])
    }),
    // reducing a failing request would take gigabytes
    { numRuns: 250, endOnFailure: true },
  )
})

test('any bytes get known answers, or none when they end too early', async () => {
  const pieceOfHttp = fc.constantFrom(
    'POST /v1/track HTTP/1.1\r\n',
    'Host: x\r\n',
    'Content-Length: 2\r\n',
    'Transfer-Encoding: chunked\r\n',
    '\r\n',
    '2\r\n{}\r\n',
    '0\r\n\r\n',
    '{}',
  )
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.array(fc.oneof(pieceOfHttp, fc.string({ maxLength: 9 }))).map((texts) => Buffer.from(texts.join(''))),
    fc.tuple(request, fc.nat(400), fc.nat(255)).map(([bytes, at, byte]) => {
      const broken = Buffer.from(bytes)
      broken[Math.min(at, bytes.length - 1)] = byte
      return broken
    }),
  )
  await fc.assert(
    fc.asyncProperty(noise, pieces, async (bytes, cuts) => {
      const ingest = fakeIngest()
      const { answers, fault } = await sent(ingest, bytes, cuts)
      if (fault) expectDeserved(fault, bytes)
      for (const answer of answers) if (answer.status !== 100) expectKnown(answer)
      expect(ingest.events().length + ingest.rejected().length).toBe(ingest.produced.flat().length)
    }),
    {
      numRuns: 250,
      endOnFailure: true,
      examples: [[Buffer.from(`${head('Connection: close\r\n')}${'more'.repeat(900)}`), [200, 1_500, 2_500]]],
    },
  )
})
